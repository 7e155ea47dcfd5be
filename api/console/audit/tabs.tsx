import { useUi } from '../html/ui.js';

export const AUDIT = '/console/audit';
const tabs = [
  ['records', AUDIT],
  ['verifications', `${AUDIT}/verifications`],
  ['checkpoints', `${AUDIT}/checkpoints`],
] as const;
export type AuditPageName = (typeof tabs)[number][0];

/** The head of each audit page, with the tabs. */
export function AuditHead({ tab }: { tab: AuditPageName }) {
  const { words } = useUi();
  return (
    <>
      <h1>{words.audit.title}</h1>
      <nav class="subpages" aria-label={words.audit.tabs.label}>
        {tabs.map(([name, path]) => (
          <a key={name} href={path} {...(name === tab && { 'aria-current': 'page' as const })}>
            {words.audit.tabs[name]}
          </a>
        ))}
      </nav>
    </>
  );
}

/** The name of a chain: the study's code; of a deleted study, its id. */
export function ChainName({
  id,
  studies,
}: {
  id: string | null;
  studies: readonly { id: string; study_code: string }[];
}) {
  const { words } = useUi();
  if (id === null || id === 'service') return <>{words.audit.serviceChain}</>;
  return <bdi>{studies.find((study) => study.id === id)?.study_code ?? id}</bdi>;
}
