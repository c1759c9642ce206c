// Enqueue BENCH_TASKS tasks: node sender.mjs paced <seconds> | single | bulk
import { setTimeout } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { QUEUE, connect } from './connection.mjs';
import { mark } from './mark.mjs';

const SLICE = 1000;
const [how, seconds] = process.argv.slice(2);
const total = Number(process.env.BENCH_TASKS);
const connection = connect();
const queue = new Queue(QUEUE, { connection });
await queue.waitUntilReady();

const add = (index) => queue.add('noop', { index });
const slice = (start, size) => Array.from({ length: size }, (_, offset) => ({ name: 'noop', data: { index: start + offset } }));

if (how === 'paced') {
  for (let index = 0; index < total; index += 1) {
    mark(index);
    await add(index);
    await setTimeout(Number(seconds) * 1000);
  }
} else {
  mark(0);
  if (how === 'bulk') {
    for (let start = 0; start < total; start += SLICE) await queue.addBulk(slice(start, Math.min(SLICE, total - start)));
  } else {
    for (let index = 0; index < total; index += 1) await add(index);
  }
  mark(total);
}
await queue.close();
await connection.quit();
