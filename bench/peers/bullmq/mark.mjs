// What bench/mark.py does: one 16-byte append of (monotonic seconds, index), little-endian doubles.
import { openSync, writeSync } from 'node:fs';

const marks = openSync(process.env.BENCH_MARKS, 'a');
const record = Buffer.alloc(16);

export const mark = (index) => {
  const [seconds, nanoseconds] = process.hrtime();
  record.writeDoubleLE(seconds + nanoseconds / 1e9, 0);
  record.writeDoubleLE(index, 8);
  writeSync(marks, record);
};
