//! The tensors of a safetensors file, by name and shape.

use safetensors::{Dtype, SafeTensors};

/// The file is damaged, or for another model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flaw;

pub struct Tensors<'a>(SafeTensors<'a>);

impl<'a> Tensors<'a> {
    pub fn read(file: &'a [u8]) -> Result<Self, Flaw> {
        SafeTensors::deserialize(file).map(Self).map_err(|_| Flaw)
    }

    /// (rows, columns), in row-major order.
    pub fn matrix(&self, name: &str, rows: usize, columns: usize) -> Result<Vec<f32>, Flaw> {
        self.of_shape(name, &[rows, columns])
    }

    pub fn vector(&self, name: &str, length: usize) -> Result<Vec<f32>, Flaw> {
        self.of_shape(name, &[length])
    }

    fn of_shape(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, Flaw> {
        let tensor = self.0.tensor(name).map_err(|_| Flaw)?;
        if tensor.dtype() != Dtype::F32 || tensor.shape() != shape {
            return Err(Flaw);
        }
        let numbers = tensor.data().chunks_exact(4);
        Ok(numbers
            .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
            .collect())
    }
}
