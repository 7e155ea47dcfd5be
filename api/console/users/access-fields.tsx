import type { StudyWithSites } from '../../../db/studies/sites.queries.js';
import { allRoles } from '../../http/access.js';
import type { Role } from '../../http/access.js';
import { SelectField } from '../html/form.js';
import { useUi } from '../html/ui.js';
import { readJson } from '../studies/edit/edit.js';

/** A user's access. */
export interface Chosen {
  role: string;
  study_ids: readonly string[];
  site_ids: readonly string[];
}

/**
 * The access chosen in a form. A site's checkbox also names its study: sites of unselected studies are dropped, as when
 * a study is removed.
 */
export function chosenIn(form: URLSearchParams): { role: Role; study_ids: string[]; site_ids: string[] } {
  const study_ids = form.getAll('study_ids');
  const site_ids = form
    .getAll('sites')
    .map((one) => one.split('/'))
    .flatMap(([study, site]) => (study !== undefined && site !== undefined && study_ids.includes(study) ? [site] : []));
  // The schema checks the role.
  return { role: (form.get('role') ?? '') as Role, study_ids, site_ids };
}

/** What a form showed of a user's access first; undefined if it does not say. */
export function shownIn(form: URLSearchParams): Chosen | undefined {
  const said = readJson(form.get('seen') ?? '') as Partial<Chosen> | null | undefined;
  const isList = (list: unknown): list is string[] => Array.isArray(list) && list.every((id) => typeof id === 'string');
  if (typeof said?.role !== 'string' || !isList(said.study_ids) || !isList(said.site_ids)) return undefined;
  return { role: said.role, study_ids: said.study_ids, site_ids: said.site_ids };
}

/** A choice over the stored access: what was left as it was shown is as it is stored now. */
export function mergedChoice(chosen: Chosen, shown: Chosen, now: Chosen): Chosen {
  const ids = (name: 'study_ids' | 'site_ids') => {
    const isTaken = (id: string) => shown[name].includes(id) && !chosen[name].includes(id);
    const added = chosen[name].filter((id) => !shown[name].includes(id));
    return [...new Set([...now[name].filter((id) => !isTaken(id)), ...added])];
  };
  return {
    role: chosen.role === shown.role ? now.role : chosen.role,
    study_ids: ids('study_ids'),
    site_ids: ids('site_ids'),
  };
}

/** Role, studies and their sites, to choose. */
export function AccessFields({ chosen, studies }: { chosen: Chosen; studies: readonly StudyWithSites[] }) {
  const { words } = useUi();
  const { users, roles } = words;
  return (
    <>
      <SelectField
        name="role"
        label={users.role}
        hint={users.adminSeesAll}
        value={chosen.role}
        options={allRoles.map((role) => [role, roles[role]] as const)}
      />
      <fieldset class="choice">
        <legend>{users.studies}</legend>
        <p class="hint">{studies.length === 0 ? users.noStudies : users.sitesWhat}</p>
        <ul>
          {studies.map((study) => (
            <li key={study.id}>
              <label class="check">
                <input
                  type="checkbox"
                  name="study_ids"
                  value={study.id}
                  checked={chosen.study_ids.includes(study.id)}
                />{' '}
                <bdi>{study.study_code}</bdi>{' '}
                <span class="quiet">
                  <bdi>{study.study_name}</bdi>
                </span>
              </label>
              {study.sites.length > 0 && <Sites of={study} chosen={chosen.site_ids} />}
            </li>
          ))}
        </ul>
      </fieldset>
    </>
  );
}

function Sites({ of: study, chosen }: { of: StudyWithSites; chosen: readonly string[] }) {
  const { words } = useUi();
  return (
    <fieldset class="sites">
      <legend class="spoken">{words.users.sites(study.study_code)}</legend>
      {study.sites.map((site) => (
        <label key={site.id} class="check">
          <input type="checkbox" name="sites" value={`${study.id}/${site.id}`} checked={chosen.includes(site.id)} />{' '}
          <bdi>{site.site_code}</bdi>
        </label>
      ))}
    </fieldset>
  );
}
