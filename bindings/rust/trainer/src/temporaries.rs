//! The temporaries of one micro-batch: held together, released together. Separate because who releases them is the
//! question that `release: collector` asks: Rust has no collector, so there they leak.

use std::cell::RefCell;
use std::rc::Rc;

use hexapla::Tensor;

/// Tensors that live until their micro-batch is done.
pub struct Temporaries {
    held: RefCell<Vec<Rc<Tensor>>>,
    leak: bool,
}

impl Temporaries {
    /// `leak`: release nothing, ever.
    pub fn new(leak: bool) -> Temporaries {
        Temporaries { held: RefCell::new(Vec::new()), leak }
    }

    /// Hold a tensor to the end of the micro-batch.
    pub fn keep(&self, tensor: Tensor) -> Rc<Tensor> {
        let tensor = Rc::new(tensor);
        self.held.borrow_mut().push(Rc::clone(&tensor));
        tensor
    }
}

impl Drop for Temporaries {
    fn drop(&mut self) {
        if self.leak {
            std::mem::forget(self.held.take());
        }
    }
}
