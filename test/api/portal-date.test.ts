import { expect } from 'chai';
import { DAY } from '../anchor/stage.js';
import type { Person } from '../anchor/stage.js';
import type { Http, Loose } from '../support/http.js';
import { enterPortal } from '../support/portal.js';
import { PortalSetting } from './portal-setting.js';

const LATER = '2024-03-12';

describe('The enrollment date in the portal', () => {
  let setting: PortalSetting;
  before(async () => {
    setting = await PortalSetting.open();
  });
  after(() => setting.close());
  const entered = (who: Person): Promise<Http> => enterPortal(setting.stage.admin, who.id);

  it('is read by the same token, now and as of an instant; that of another is not there', async () => {
    const [ann, other] = [await setting.person(), await setting.person()];
    const http = await entered(ann);
    const path = `${ann.path}/anchor-date`;
    expect(await http.expect(200, 'GET', path)).to.deep.equal(await ann.anchor());
    const before = new Date().toISOString();
    await ann.set(DAY, http);
    expect(await http.expect(200, 'GET', path)).to.include({ status: 'finalized', enrollment_date: DAY });
    expect(await http.expect(200, 'GET', `${path}?as_of=${before}`)).to.include({ status: 'unset' });
    expect((await http.get(`${other.path}/anchor-date`)).status).to.equal(404);
    await ann.post('/override', { new_enrollment_date: LATER, reason: 'she gave a wrong date before' });
    expect(await ann.anchor()).to.deep.include({ override_reason: 'she gave a wrong date before' });
    const own = { is_override: true, enrollment_date: LATER, override_reason: null, source_ref: null };
    const { headers, body } = await http.get<Loose>(path);
    expect(body).to.deep.include(own);
    const same = { headers: { 'If-Match': headers.get('etag')! } };
    const again = await http.post<Loose>(path, { enrollment_date: LATER }, same);
    expect(again.status, again.text).to.equal(200);
    expect(again.body).to.deep.include(own);
    for (const more of ['/history', '/override-requests'])
      expect((await http.get(`${path}${more}`)).status, more).to.equal(401);
  });
});
