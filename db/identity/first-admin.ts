import { openDatabase } from '../client/knex.js';
import { hashPassword } from './passwords.js';
import { withStudyScope } from '../client/transaction.js';
import { execute } from '../client/query.js';

/** Creates the first admin if the database has none; changes no existing user. */
export async function ensureFirstAdmin(
  databaseUrl: string,
  admin: { email: string; password: string },
): Promise<{ created: boolean }> {
  const owner = openDatabase({ url: databaseUrl, name: 'first-admin', asOwner: true, poolMax: 1 });
  try {
    return await withStudyScope(owner, '*', async ({ tx, audit }) => {
      await execute(tx, `select pg_advisory_xact_lock(hashtext('first-admin'))`);
      if (await tx('users').where({ role: 'admin' }).first('id')) return { created: false };
      const [user] = await tx('users')
        .insert({
          email: admin.email,
          name: 'Administrator',
          role: 'admin',
          password_hash: await hashPassword(admin.password),
        })
        .returning('id');
      audit.record({
        study_id: null,
        user_id: user.id,
        action: 'user_created',
        resource_type: 'user',
        resource_id: user.id,
        metadata: { role: 'admin', first: true },
      });
      return { created: true };
    });
  } finally {
    await owner.destroy();
  }
}
