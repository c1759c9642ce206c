// Enqueue the tasks 0 … BENCH_TASKS-1, in BullMQ's own bulk calls of 1,000.
import { Queue } from 'bullmq';
import { QUEUE, connect } from './connection.mjs';

const SLICE = 1000;
const total = Number(process.env.BENCH_TASKS);
const connection = connect();
const queue = new Queue(QUEUE, { connection });

for (let start = 0; start < total; start += SLICE) {
  const size = Math.min(SLICE, total - start);
  await queue.addBulk(Array.from({ length: size }, (_, offset) => ({ name: 'noop', data: { index: start + offset } })));
}
await queue.close();
await connection.quit();
