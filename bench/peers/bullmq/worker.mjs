// A BullMQ worker in one process: node worker.mjs <concurrency>
import { openSync, writeSync } from 'node:fs';
import { Worker } from 'bullmq';
import { QUEUE, connect } from './connection.mjs';

// What bench/mark.py does: one 16-byte append of (monotonic seconds, index), little-endian doubles.
const marks = openSync(process.env.BENCH_MARKS, 'a');
const record = Buffer.alloc(16);
const mark = (index) => {
  const [seconds, nanoseconds] = process.hrtime();
  record.writeDoubleLE(seconds + nanoseconds / 1e9, 0);
  record.writeDoubleLE(index, 8);
  writeSync(marks, record);
};

const connection = connect();
const worker = new Worker(QUEUE, async (job) => mark(job.data.index), {
  connection,
  concurrency: Number(process.argv[2]),
  // Completed jobs are dropped: we keep none either, and it is BullMQ's faster setting.
  removeOnComplete: { count: 0 },
});

process.on('SIGTERM', async () => {
  await worker.close();
  await connection.quit();
  process.exit(0);
});
