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
  // The build names the source before each module that it joins.
  const module = /^\\/\\/ db\\/(?!reports\\/)[\\w-]+\\/([\\w-]+)\\.queries\\.ts\\n[^]*?(?=^\\/\\/ \\S+\\.tsx?$)/gm;
  export async function load(url, context, next) {
    const loaded = await next(url, context);
    if (!/\\/dist\\/(api\\/main|chunks\\/[^/]+)\\.js$/.test(url)) return loaded;
    const source = String(loaded.source).replace(module, (text, name) => {
      const change = forgotten[name];
      if (!change) return text;
      // The compiler breaks lines where it likes, and has quotes of its own.
      const filter = new RegExp(
        change[0]
          .replace(/[.*+?^$\\x7b\\x7d()|[\\]\\\\]/g, '\\\\$&')
          .replace(/ |(?=\\\\\\.)/g, '\\\\s*')
          .replaceAll("'", '["\\']'),
      );
      if (!filter.test(text)) throw new Error('there is no such filter in ' + name);
      appendFileSync(${JSON.stringify(process.env.WITHOUT_FILTERS ?? '/dev/null')}, name + '\\n');
      return text.replace(filter, () => change[1]);
    });
    return { ...loaded, source };
  }
`)}`,
);
