//! Which records an update takes: a seeded permutation an epoch, cut into batches that never span epochs. Knows
//! counts only.

/// SplitMix64 (Steele, Lea and Flood 2014).
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// The order of n records in an epoch.
pub fn shuffled(n: usize, seed: u64, epoch: u64) -> Vec<usize> {
    let mut random = SplitMix64(seed.wrapping_shl(32).wrapping_add(epoch));
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        let j = random.next() % (i as u64 + 1);
        order.swap(i, j as usize);
    }
    order
}

/// The order of a run. Keeps the epoch that it was last asked for.
pub struct Order {
    n: usize,
    batch: usize,
    seed: u64,
    epoch: u64,
    order: Vec<usize>,
}

impl Order {
    /// Of `n` ≥ 1 records.
    pub fn new(n: usize, batch: usize, seed: u64) -> Order {
        Order { n, batch, seed, epoch: 0, order: shuffled(n, seed, 0) }
    }

    /// Epoch and record numbers of update k, from 1.
    pub fn update(&mut self, k: u64) -> (u64, &[usize]) {
        let per_epoch = self.n.div_ceil(self.batch) as u64;
        let (epoch, place) = ((k - 1) / per_epoch, (k - 1) % per_epoch);
        if epoch != self.epoch {
            self.order = shuffled(self.n, self.seed, epoch);
            self.epoch = epoch;
        }
        let start = place as usize * self.batch;
        (epoch, &self.order[start..self.n.min(start + self.batch)])
    }
}

#[cfg(test)]
mod tests {
    use super::{Order, SplitMix64, shuffled};

    #[test]
    fn the_check_values_hold() {
        assert_eq!(SplitMix64(0).next(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(shuffled(10, 1, 0), [9, 7, 4, 0, 3, 8, 2, 5, 1, 6]);
        assert_eq!(shuffled(10, 1, 1), [1, 6, 3, 2, 4, 5, 9, 8, 0, 7]);
    }

    #[test]
    fn an_epoch_ends_in_what_is_left() {
        let mut order = Order::new(10, 4, 1);
        assert_eq!(order.update(3), (0, &[1, 6][..]));
        assert_eq!(order.update(4), (1, &[1, 6, 3, 2][..]));
        assert_eq!(order.update(1), (0, &[9, 7, 4, 0][..]));
    }
}
