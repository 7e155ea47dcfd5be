import type { Page } from 'puppeteer-core';
import { fill, setValue, submit } from '../../test/console/browser.js';
import type { ShownPage, Subjects } from '../../test/console/pages.js';

/** A page that answers a form, with the steps before its picture. */
export interface Act extends ShownPage {
  act: (page: Page) => Promise<void>;
}

const type = (page: Page, selector: string, value: string): Promise<void> =>
  page.$eval(
    selector,
    (field, given) => {
      (field as unknown as { value: string }).value = given;
    },
    value,
  );

/** Previews and refusals of a study's forms; nothing is saved. */
export function actsOn({ study, participant, approval, more = {} }: Subjects): Act[] {
  const at = `/console/studies/${study}`;
  const policy = { sources: [{ type: 'consent_workflow' }, { type: 'manual_entry' }] };
  return [
    {
      name: 'menu-open',
      path: '/console/today',
      act: (page) => page.click('.user-menu summary'),
    },
    {
      name: 'study-policy-tried',
      path: `${at}/policy`,
      act: async (page) => {
        await type(page, 'textarea', JSON.stringify(policy, null, 2));
        await submit(page, 'button[value=try]');
      },
    },
    {
      name: 'study-policy-refused',
      path: `${at}/policy`,
      act: async (page) => {
        await type(page, 'textarea', JSON.stringify({ sources: [{ type: 'nowhere' }], unknown: 1 }));
        await submit(page, 'button[value=try]');
      },
    },
    {
      name: 'study-window-tried',
      path: `${at}/windows/${more.window_id}`,
      act: async (page) => {
        await fill(page, { target_day: '2' });
        await submit(page, 'main button[type=submit], main form button');
      },
    },
    {
      name: 'approval-refused',
      path: `/console/approvals/${approval}`,
      act: async (page) => {
        await fill(page, { reason: '   ' });
        await submit(page, 'button[value=deny]');
      },
    },
    {
      name: 'users-invite-refused',
      path: '/console/users/invite',
      act: async (page) => {
        await fill(page, { email: 'jonas.weber@example.org', name: 'Jonas Weber' });
        await submit(page, 'main button.primary');
      },
    },
    {
      name: 'enroll-refused',
      path: `${at}/enroll`,
      act: async (page) => {
        await fill(page, { participant_code: 'MEM-0001' });
        await submit(page, 'main button.primary');
      },
    },
    {
      name: 'participant-date-preview',
      path: `/console/participants/${participant}?tab=date`,
      act: async (page) => {
        if (!(await page.$('[name=new_enrollment_date]'))) return;
        await setValue(page, '[name=new_enrollment_date]', '2026-08-20');
        await submit(page, 'button[value=preview]');
      },
    },
  ];
}
