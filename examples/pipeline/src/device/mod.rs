//! Where a stage computes: a GPU, or the processor as the reference.

mod cpu;
mod gpu;

pub use cpu::Cpu;
pub use gpu::Gpu;

use anyhow::{Result, ensure};

/// A matrix in a memory: row by row, `stride` numbers from one row's begin to the next one's.
#[derive(Debug, Clone, Copy)]
pub struct Matrix {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Numbers between the begins of two rows.
    pub stride: usize,
    /// Place of the first number in the memory.
    pub offset: usize,
}

impl Matrix {
    /// Returns the matrix that fills a memory from its begin.
    pub fn whole(rows: usize, columns: usize) -> Self {
        Self { rows, columns, stride: columns, offset: 0 }
    }

    /// Returns `columns` columns of this matrix, from the given one on.
    pub fn columns(self, first: usize, columns: usize) -> Self {
        Self { columns, offset: self.offset + first, ..self }
    }

    /// Returns the numbers that a memory must have to hold it.
    pub fn end(self) -> usize {
        self.offset + (self.rows - 1) * self.stride + self.columns
    }
}

/// A factor of a product: a matrix in a memory, as it is or transposed.
#[derive(Debug)]
pub struct Factor<'a, M> {
    /// The memory.
    pub memory: &'a M,
    /// The matrix in it.
    pub matrix: Matrix,
    /// Whether the product takes its transpose.
    pub transposed: bool,
}

impl<'a, M> Factor<'a, M> {
    /// Returns the matrix as a factor.
    pub fn of(memory: &'a M, matrix: Matrix) -> Self {
        Self { memory, matrix, transposed: false }
    }

    /// Returns the transposed matrix as a factor.
    pub fn transposed(memory: &'a M, matrix: Matrix) -> Self {
        Self { memory, matrix, transposed: true }
    }

    /// Returns rows and columns as the product takes them.
    pub fn shape(&self) -> (usize, usize) {
        let Matrix { rows, columns, .. } = self.matrix;
        if self.transposed { (columns, rows) } else { (rows, columns) }
    }
}

/// The numbers of a product C = scale A B + keep C.
#[derive(Debug, Clone, Copy)]
pub struct Scales {
    /// Of the product.
    pub scale: f32,
    /// Of what C was before; with 0, C may hold anything.
    pub keep: f32,
}

/// Computes in order: each call may return before its work is done, and works on what the calls before it have left.
pub trait Device {
    /// Numbers (f32) on the device.
    type Memory;
    /// A moment in the order of the work.
    type Mark;

    /// Returns the device's name for people.
    fn name(&self) -> String;

    /// Makes a memory of zeros.
    fn allocate(&self, numbers: usize) -> Result<Self::Memory>;

    /// Returns the number of numbers in a memory.
    fn length(&self, memory: &Self::Memory) -> usize;

    /// Fills a memory.
    fn write(&self, values: &[f32], memory: &mut Self::Memory) -> Result<()>;

    /// Waits for all work so far and reads a memory.
    fn read(&self, memory: &Self::Memory) -> Result<Vec<f32>>;

    /// C = scale A B + keep C.
    fn multiply(
        &self,
        scales: Scales,
        a: &Factor<'_, Self::Memory>,
        b: &Factor<'_, Self::Memory>,
        c: &mut Self::Memory,
        place: Matrix,
    ) -> Result<()>;

    /// Copies a memory to another one of the same length.
    fn copy(&self, from: &Self::Memory, to: &mut Self::Memory) -> Result<()>;

    /// Adds `factor` times a memory to another one of the same length.
    fn add(&self, factor: f32, from: &Self::Memory, to: &mut Self::Memory) -> Result<()>;

    /// Multiplies each number of a memory.
    fn scale(&self, factor: f32, memory: &mut Self::Memory) -> Result<()>;

    /// Puts the Euclidean norm of a memory into one place of another one.
    fn norm(&self, of: &Self::Memory, into: &mut Self::Memory, place: usize) -> Result<()>;

    /// Marks the moment at which all work so far is done.
    fn mark(&self) -> Result<Self::Mark>;

    /// Waits for a mark, and returns the seconds that have passed since an earlier one.
    fn seconds(&self, from: &Self::Mark, to: &Self::Mark) -> Result<f64>;

    /// Returns the bytes of the device's memory that are in use, by anybody; 0 where that is not known.
    fn used(&self) -> Result<usize>;
}

/// Checks that a product's shapes agree and lie in the memories, and returns its rows, columns, and the columns of A.
fn checked<D: Device>(
    device: &D,
    a: &Factor<'_, D::Memory>,
    b: &Factor<'_, D::Memory>,
    c: &D::Memory,
    place: Matrix,
) -> Result<(usize, usize, usize)> {
    let ((rows, inner), (inner_of_b, columns)) = (a.shape(), b.shape());
    ensure!(
        inner == inner_of_b && (rows, columns) == (place.rows, place.columns),
        "a product of {rows} x {inner} and {inner_of_b} x {columns} is no matrix of {} x {}",
        place.rows,
        place.columns
    );
    for (memory, matrix) in [(a.memory, a.matrix), (b.memory, b.matrix), (c, place)] {
        let length = device.length(memory);
        let inside = matrix.rows > 0 && matrix.columns <= matrix.stride && matrix.end() <= length;
        ensure!(inside, "{matrix:?} is not inside of a memory of {length} numbers");
    }
    Ok((rows, columns, inner))
}
