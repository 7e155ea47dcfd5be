/** The last heartbeat of each worker process: a frozen one sends none, although it exists. */
export const name = '0073-worker-signs';
export const up = `
create table worker_signs (
  worker_id uuid primary key,
  task_queue text not null,
  seen_at timestamptz not null default clock_timestamp()
);
grant select, insert, update, delete on worker_signs to research_app;
`;
