/**
 * Loaded before the API by a test (NODE_OPTIONS=--import): takes the study out of the conditions of its lists, as
 * somebody would who forgot it. WITHOUT_FILTERS names the file that tells which were taken out.
 */
import { register } from 'node:module';

register(
  `data:text/javascript,${encodeURIComponent(`
  import { appendFileSync } from 'node:fs';
  const forgotten = {
    participants: ["if (filter.studyId) conditions.push", "if (filter.studyId === 'forgotten') conditions.push"],
    visits: ["if (filter.studyId) q.where", "if (filter.studyId === 'forgotten') q.where"],
    windows: ["if (filter.studyId) q.where", "if (filter.studyId === 'forgotten') q.where"],
    notifications: ["if (filter.studyId) q.where", "if (filter.studyId === 'forgotten') q.where"],
    caregivers: ["tx('caregivers as c').where('c.study_id', studyId)", "tx('caregivers as c')"],
    sites: ["tx('sites').where('study_id', studyId)", "tx('sites')"],
    'webhook-events': [".where({ study_id: studyId }).whereRaw(OF_SITES)", ".whereRaw(OF_SITES)"],
  };
  export async function load(url, context, next) {
    const loaded = await next(url, context);
    const name = /\\/db\\/(?!reports\\/)[\\w-]+\\/([\\w-]+)\\.queries\\.[jt]s/.exec(url)?.[1];
    const change = name && forgotten[name];
    if (!change || !loaded.source) return loaded;
    const source = String(loaded.source);
    // The compiler breaks lines where it likes.
    const filter = new RegExp(change[0].replace(/[.*+?^$\\x7b\\x7d()|[\\]\\\\]/g, '\\\\$&').replace(/ |(?=\\\\\\.)/g, '\\\\s*'));
    if (!filter.test(source)) throw new Error('there is no such filter in ' + url);
    appendFileSync(${JSON.stringify(process.env.WITHOUT_FILTERS ?? '/dev/null')}, name + '\\n');
    return { ...loaded, source: source.replace(filter, () => change[1]) };
  }
`)}`,
);
