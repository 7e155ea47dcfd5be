import { readFileSync } from 'node:fs';
import { workflowBundle } from '../anchor/small-runs.js';

/** What each of them begins with, for the tests that such a thing is found. All others are as they are. */
const BREAKS: Record<string, string> = {
  // It waits before it works.
  participantAnchor: `await new Promise((go) => setTimeout(go, 3_600_000));`,
  // It leaves out every step.
  pushResults: `return { status: 'skipped', error_type: null, records_imported: null, wait_ms: null };`,
};

/** The bundle of the present workflows with deliberate breaks: to bundle other sources takes seconds. */
export async function incompatibleBundle(): Promise<{ code: string }> {
  const { codePath } = await workflowBundle();
  let code = readFileSync(codePath, 'utf8');
  for (const [workflow, broken] of Object.entries(BREAKS)) {
    const beginning = `async function ${workflow}(start) {\n`;
    const parts = code.split(beginning);
    if (parts.length !== 2) throw new Error(`${codePath} has ${parts.length - 1} functions ${workflow}`);
    code = parts.join(`${beginning}${broken}\n`);
  }
  return { code };
}
