//! The last work of a thread of the library that writes a file.
//!
//! The end of the process has the thread do it and waits for a while ([`patience`]): so the program's own threads call
//! no file system, which may not answer.

use crate::base::answer::{self, Reply};
use crate::base::bell::Bell;
use crate::base::signal::Blocked;
use crate::base::{files, own_thread, patience, shortage};
use crossbeam_queue::ArrayQueue;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What a thread is to do at the end of the process. It may be asked for again, when the thread has done it.
#[derive(Debug)]
pub struct LastWork<T> {
    bell: Bell,
    asked: OnceLock<ArrayQueue<(T, Reply<()>)>>,
    /// There is a thread that will do it.
    has_thread: AtomicBool,
}

impl<T> Default for LastWork<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> LastWork<T> {
    /// Makes one that no thread does yet.
    pub const fn new() -> Self {
        Self { bell: Bell::new(), asked: OnceLock::new(), has_thread: AtomicBool::new(false) }
    }

    fn asked(&self) -> &ArrayQueue<(T, Reply<()>)> {
        self.asked.get_or_init(|| ArrayQueue::new(1))
    }

    /// Starts a thread called `name` that runs `body`, and promises to do the work until that ends.
    ///
    /// # Errors
    /// Fails when the system refuses a thread.
    pub fn begin_thread(
        &'static self,
        name: &'static str,
        body: impl FnOnce(&Promise<T>) + Send + 'static,
    ) -> io::Result<()>
    where
        T: Send,
    {
        // a signal handler that ends the process here would wait for a thread that never begins
        let _whole = Blocked::all();
        let promise = self.promise();
        own_thread::spawn(name, move || {
            files::know_root();
            body(&promise);
        })
    }

    /// Says that a thread is about to begin which will do the work, until the result is dropped on it.
    fn promise(&'static self) -> Promise<T> {
        self.asked();
        self.has_thread.store(true, Ordering::Release);
        Promise(self)
    }

    /// Has the thread do the work, and waits for it. If the file system does not answer, one line says that the file
    /// `written` is not complete.
    ///
    /// # Errors
    /// Gives the work back if there is no thread: the caller does it.
    pub fn have_done(&self, work: T, written: &str) -> Result<(), T> {
        let (reply, answer) = answer::pair();
        let mut asked = Some((work, reply));
        let mut is_gone = false;
        patience::wait(written, || {
            if let Some(work) = asked.take() {
                asked = self.asked().push(work).err();
                self.bell.ring();
            }
            is_gone = !self.has_thread.load(Ordering::Acquire);
            // looked at after the thread: what it has done is done
            answer.is_there() || is_gone || shortage::is_out_of_memory()
        });
        let left = if is_gone && !answer.is_there() { asked.or_else(|| self.asked().pop()) } else { None };
        left.map_or(Ok(()), |(work, _)| Err(work))
    }
}

/// What the thread holds that does the last work.
#[derive(Debug)]
pub struct Promise<T: 'static>(&'static LastWork<T>);

impl<T> Promise<T> {
    /// Waits for the last work, at most for a time. Does it if it is asked for, and returns whether it was.
    pub fn keep_within(&self, time: Duration, does: impl FnOnce(T)) -> bool {
        if self.0.asked().is_empty() {
            self.0.bell.wait(time);
        }
        let Some((work, reply)) = self.0.asked().pop() else { return false };
        does(work);
        reply.give(());
        true
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        self.0.has_thread.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_does_it_and_without_one_the_caller_does() {
        static WORK: LastWork<u32> = LastWork::new();
        assert_eq!(WORK.have_done(1, "it"), Err(1));
        let promise = WORK.promise();
        let thread = std::thread::spawn(move || {
            let mut done = Vec::new();
            while done.len() < 2 {
                promise.keep_within(Duration::from_secs(1000), |work| done.push(work));
            }
            done
        });
        assert_eq!((WORK.have_done(2, "it"), WORK.have_done(3, "it")), (Ok(()), Ok(())));
        assert_eq!(thread.join().unwrap(), [2, 3]);
        // the thread is gone
        assert_eq!(WORK.have_done(4, "it"), Err(4));
    }

    #[test]
    fn a_thread_that_ends_instead_gives_it_back() {
        static WORK: LastWork<u32> = LastWork::new();
        let promise = WORK.promise();
        let thread = std::thread::spawn(move || {
            while WORK.asked().is_empty() {
                std::thread::yield_now();
            }
            drop(promise);
        });
        assert_eq!(WORK.have_done(5, "it"), Err(5));
        thread.join().unwrap();
    }
}
