// A BullMQ worker in one process: node worker.mjs <concurrency>
import { Worker } from 'bullmq';
import { QUEUE, connect } from './connection.mjs';
import { mark } from './mark.mjs';

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
