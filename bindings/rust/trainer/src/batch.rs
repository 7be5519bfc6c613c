//! A micro-batch: records end to end, with the host arrays that operations take, built once. And the digest of an
//! update's batch.

use crate::render::Rendered;

pub struct MicroBatch {
    pub ids: Vec<i32>,
    /// Restarting at 0 in each record.
    pub positions: Vec<i32>,
    /// Each record's first row, then the row behind the last record.
    pub starts: Vec<i32>,
    /// The row before each label.
    pub rows: Vec<i32>,
    /// The label's id.
    pub targets: Vec<i32>,
    /// Labels of each record.
    pub labels: Vec<usize>,
}

impl MicroBatch {
    pub fn new(records: &[&Rendered]) -> MicroBatch {
        let tokens = records.iter().map(|record| record.ids.len()).sum();
        let mut batch = MicroBatch {
            ids: Vec::with_capacity(tokens),
            positions: Vec::with_capacity(tokens),
            starts: vec![0],
            rows: Vec::new(),
            targets: Vec::new(),
            labels: Vec::with_capacity(records.len()),
        };
        for record in records {
            let start = batch.ids.len();
            batch.ids.extend(&record.ids);
            batch.positions.extend(0..record.ids.len() as i32);
            batch.starts.push(batch.ids.len() as i32);
            // The prompt stands before every label, so none is a record's first id.
            let flagged = (0..record.ids.len()).filter(|index| record.flags[*index]);
            let before = batch.rows.len();
            for index in flagged {
                batch.rows.push((start + index - 1) as i32);
                batch.targets.push(record.ids[index]);
            }
            batch.labels.push(batch.rows.len() - before);
        }
        batch
    }

    /// Each record's NLL: the f64 running sum of its labels, in order.
    pub fn record_nlls<'a>(&'a self, nll: &'a [f32]) -> impl Iterator<Item = f64> + 'a {
        let mut rest = nll;
        self.labels.iter().map(move |count| {
            let (own, others) = rest.split_at(*count);
            rest = others;
            own.iter().fold(0.0, |sum, value| sum + f64::from(*value))
        })
    }
}

/// Labels of some records.
pub fn labels(records: &[&Rendered]) -> u64 {
    records.iter().map(|record| record.flags.iter().filter(|flag| **flag).count() as u64).sum()
}

/// FNV-1a 64 over, per record, its id count and ids as little-endian u32, then one byte a flag.
pub fn digest(records: &[&Rendered]) -> String {
    let mut hash: u64 = 0xCBF2_9CE4_8422_2325;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3);
        }
    };
    for record in records {
        add(&(record.ids.len() as u32).to_le_bytes());
        record.ids.iter().for_each(|id| add(&id.to_le_bytes()));
        record.flags.iter().for_each(|flag| add(&[u8::from(*flag)]));
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::{MicroBatch, digest};
    use crate::render::Rendered;

    fn d1() -> Rendered {
        let ids = vec![
            151644, 872, 198, 3872, 29067, 220, 16, 20, 15, 14, 24, 20, 1550, 30, 151645, 198, 151644, 77091, 198,
            151667, 271, 151668, 271, 9454, 13, 151645, 198,
        ];
        let flags = (0..ids.len()).map(|index| (23..26).contains(&index)).collect();
        Rendered { ids, flags }
    }

    #[test]
    fn the_check_value_holds() {
        assert_eq!(digest(&[&d1()]), "d07c95059f5dc313");
    }

    #[test]
    fn records_lie_end_to_end() {
        let (one, two) = (d1(), d1());
        let batch = MicroBatch::new(&[&one, &two]);
        assert_eq!(batch.starts, [0, 27, 54]);
        assert_eq!(batch.positions[27], 0);
        assert_eq!(batch.rows, [22, 23, 24, 49, 50, 51]);
        assert_eq!(batch.targets, [9454, 13, 151645, 9454, 13, 151645]);
        let sums: Vec<f64> = batch.record_nlls(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).collect();
        assert_eq!(sums, [6.0, 15.0]);
    }
}
