//! A GPU: cuBLAS on one stream.

use super::{Device, Factor, Matrix, Scales, checked};
use anyhow::{Context, Result, ensure};
use cudarc::cublas::{CudaBlas, result, sys};
use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaContext, CudaEvent, CudaSlice, CudaStream, DevicePtr, DevicePtrMut};
use std::sync::Arc;

/// Computes on one stream of a GPU, in single precision with TensorFloat-32 products.
#[derive(Debug)]
pub struct Gpu {
    stream: Arc<CudaStream>,
    blas: CudaBlas,
}

impl Gpu {
    /// Opens a GPU of this machine. CUDA's libraries are there: [`crate::libraries::gpus`] has found them.
    ///
    /// # Errors
    ///
    /// CUDA's or cuBLAS' error, with the GPU.
    pub fn open(place: usize) -> Result<Self> {
        let context = CudaContext::new(place).with_context(|| format!("GPU {place} does not open"))?;
        // SAFETY: all work of this process that cudarc knows of is on the one stream below, which orders it
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().with_context(|| format!("no stream on GPU {place}"))?;
        let blas = CudaBlas::new(stream.clone()).with_context(|| format!("no cuBLAS on GPU {place}"))?;
        // SAFETY: the handle is that of `blas`, which lives
        unsafe { sys::cublasSetMathMode(*blas.handle(), sys::cublasMath_t::CUBLAS_TF32_TENSOR_OP_MATH) }.result()?;
        Ok(Self { stream, blas })
    }

    /// Returns the stream of all work.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Returns the address of a matrix in a memory.
    fn address(&self, memory: &CudaSlice<f32>, offset: usize) -> *const f32 {
        let (begin, _) = memory.device_ptr(&self.stream);
        (begin as usize + offset * size_of::<f32>()) as *const f32
    }

    /// Returns the address of a matrix in a memory that is written.
    fn address_mut(&self, memory: &mut CudaSlice<f32>, offset: usize) -> *mut f32 {
        let (begin, _) = memory.device_ptr_mut(&self.stream);
        (begin as usize + offset * size_of::<f32>()) as *mut f32
    }
}

fn operation(transposed: bool) -> sys::cublasOperation_t {
    if transposed { sys::cublasOperation_t::CUBLAS_OP_T } else { sys::cublasOperation_t::CUBLAS_OP_N }
}

/// A length as cuBLAS takes it.
fn int(number: usize) -> Result<i32> {
    i32::try_from(number).with_context(|| format!("{number} is more than cuBLAS counts"))
}

impl Device for Gpu {
    type Memory = CudaSlice<f32>;
    type Mark = CudaEvent;

    fn name(&self) -> String {
        let context = self.stream.context();
        let name = context.name().unwrap_or_else(|_| "GPU".into());
        format!("{name} {}", context.ordinal())
    }

    fn allocate(&self, numbers: usize) -> Result<CudaSlice<f32>> {
        let memory = self.stream.alloc_zeros(numbers);
        memory.with_context(|| format!("{} MiB on the GPU", (numbers * size_of::<f32>()) >> 20))
    }

    fn length(&self, memory: &CudaSlice<f32>) -> usize {
        memory.len()
    }

    fn write(&self, values: &[f32], memory: &mut CudaSlice<f32>) -> Result<()> {
        ensure!(values.len() == memory.len(), "{} values for a memory of {}", values.len(), memory.len());
        self.stream.memcpy_htod(values, memory)?;
        // the values may go once this has returned
        Ok(self.stream.synchronize()?)
    }

    fn read(&self, memory: &CudaSlice<f32>) -> Result<Vec<f32>> {
        let values = self.stream.clone_dtoh(memory)?;
        self.stream.synchronize()?;
        Ok(values)
    }

    fn multiply(
        &self,
        Scales { scale, keep }: Scales,
        a: &Factor<'_, CudaSlice<f32>>,
        b: &Factor<'_, CudaSlice<f32>>,
        c: &mut CudaSlice<f32>,
        place: Matrix,
    ) -> Result<()> {
        let (rows, columns, inner) = checked(self, a, b, c, place)?;
        let [first, second] = [b, a].map(|factor| self.address(factor.memory, factor.matrix.offset));
        let target = self.address_mut(c, place.offset);
        // cuBLAS reads matrices column by column, and so sees the transposes of these: C' = B' A'
        // SAFETY: `checked` has seen that all three matrices lie in their memories; the borrows keep these until the
        // call has returned, and the stream orders what happens to them later
        unsafe {
            result::sgemm(
                *self.blas.handle(),
                operation(b.transposed),
                operation(a.transposed),
                int(columns)?,
                int(rows)?,
                int(inner)?,
                &scale,
                first,
                int(b.matrix.stride)?,
                second,
                int(a.matrix.stride)?,
                &keep,
                target,
                int(place.stride)?,
            )
        }
        .context("cublasSgemm")
    }

    fn copy(&self, from: &CudaSlice<f32>, to: &mut CudaSlice<f32>) -> Result<()> {
        ensure!(from.len() == to.len(), "{} numbers for a memory of {}", from.len(), to.len());
        Ok(self.stream.memcpy_dtod(from, to)?)
    }

    fn add(&self, factor: f32, from: &CudaSlice<f32>, to: &mut CudaSlice<f32>) -> Result<()> {
        ensure!(from.len() == to.len(), "{} numbers cannot be added to {}", from.len(), to.len());
        let (handle, length) = (*self.blas.handle(), int(from.len())?);
        let (source, target) = (self.address(from, 0), self.address_mut(to, 0));
        // SAFETY: both memories have this length; the borrows keep them, and the stream orders what happens later
        unsafe { sys::cublasSaxpy_v2(handle, length, &factor, source, 1, target, 1) }.result().context("cublasSaxpy")
    }

    fn scale(&self, factor: f32, memory: &mut CudaSlice<f32>) -> Result<()> {
        let length = int(memory.len())?;
        let target = self.address_mut(memory, 0);
        // SAFETY: the memory has this length; the borrow keeps it, and the stream orders what happens later
        unsafe { sys::cublasSscal_v2(*self.blas.handle(), length, &factor, target, 1) }.result().context("cublasSscal")
    }

    fn norm(&self, of: &CudaSlice<f32>, into: &mut CudaSlice<f32>, place: usize) -> Result<()> {
        ensure!(place < into.len(), "place {place} is not inside of a memory of {} numbers", into.len());
        let (handle, length) = (*self.blas.handle(), int(of.len())?);
        let (source, target) = (self.address(of, 0), self.address_mut(into, place));
        // the result stays on the GPU: with its default mode cuBLAS would wait for it
        self.blas.set_pointer_mode(sys::cublasPointerMode_t::CUBLAS_POINTER_MODE_DEVICE)?;
        // SAFETY: the memory has this length and the other one this place; the borrows keep them, and the stream
        // orders what happens later
        let norm = unsafe { sys::cublasSnrm2_v2(handle, length, source, 1, target) }.result();
        self.blas.set_pointer_mode(sys::cublasPointerMode_t::CUBLAS_POINTER_MODE_HOST)?;
        norm.context("cublasSnrm2")
    }

    fn mark(&self) -> Result<CudaEvent> {
        // who waits for it sleeps: the processors are others', too
        Ok(self.stream.record_event(Some(CUevent_flags::CU_EVENT_BLOCKING_SYNC))?)
    }

    fn seconds(&self, from: &CudaEvent, to: &CudaEvent) -> Result<f64> {
        Ok(f64::from(from.elapsed_ms(to)?) / 1e3)
    }

    fn used(&self) -> Result<usize> {
        let (free, total) = self.stream.context().mem_get_info()?;
        Ok(total.saturating_sub(free))
    }
}
