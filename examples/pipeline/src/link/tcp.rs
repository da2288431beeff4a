//! TCP, for stages on processors.

use super::Link;
use crate::device::Cpu;
use crate::rendezvous::Store;
use crate::schedule::Side;
use anyhow::{Context, Result};
use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

/// A connection of two stages.
#[derive(Debug)]
pub struct Tcp {
    connection: TcpStream,
    incoming: BufReader<TcpStream>,
}

impl Tcp {
    /// Connects a stage with its neighbour. The right one listens; the store passes its address on.
    ///
    /// # Errors
    ///
    /// The network's, or the store's.
    pub fn connect(store: &mut Store, left: usize, side: Side) -> Result<Self> {
        let key = format!("tcp.{left}");
        let connection = match side {
            Side::Left => {
                let listener = TcpListener::bind((store.own_address()?, 0)).context("no port to listen at")?;
                store.put(&key, listener.local_addr()?.to_string().as_bytes())?;
                listener.accept()?.0
            }
            Side::Right => {
                let address = String::from_utf8(store.get(&key)?)?;
                TcpStream::connect(&address).with_context(|| format!("stage {} at {address}", left + 1))?
            }
        };
        connection.set_nodelay(true)?;
        Ok(Self { incoming: BufReader::new(connection.try_clone()?), connection })
    }
}

impl Link<Cpu> for Tcp {
    fn exchange(&mut self, _: &Cpu, send: Option<&Vec<f32>>, receive: Option<&mut Vec<f32>>) -> Result<()> {
        let Self { connection, incoming } = self;
        // both at once: two large messages would fill the sockets' buffers, and wait for each other
        std::thread::scope(|scope| {
            let sending = send.map(|memory| {
                let bytes: Vec<u8> = memory.iter().flat_map(|number| number.to_le_bytes()).collect();
                scope.spawn(move || connection.write_all(&bytes))
            });
            if let Some(memory) = receive {
                let mut bytes = vec![0; size_of_val(memory.as_slice())];
                incoming.read_exact(&mut bytes).context("the neighbour sends no more")?;
                let (numbers, _) = bytes.as_chunks::<4>();
                memory.iter_mut().zip(numbers).for_each(|(number, bytes)| *number = f32::from_le_bytes(*bytes));
            }
            match sending.map(|thread| thread.join()) {
                Some(Ok(sent)) => sent.context("the neighbour takes no more"),
                Some(Err(_)) => anyhow::bail!("the thread that sends has ended"),
                None => Ok(()),
            }
        })
    }
}
