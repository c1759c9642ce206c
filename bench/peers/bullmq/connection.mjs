// The one queue, and the connection to it as BullMQ's documentation wants it for workers.
import IORedis from 'ioredis';

export const QUEUE = 'bench';

export const connect = () => new IORedis(process.env.BENCH_URL, { maxRetriesPerRequest: null });
