import { listUsers } from '../../db/identity/users.queries.js';
import { roles, outsideStudy } from '../http/access.js';
import { route } from '../http/route.js';
import { Type, listOf, paging, sorting, text } from '../http/common.schemas.js';
import { RoleName, User, UserChange, UserStatus } from './users.schemas.js';
import { changeUser } from './users.service.js';

export const userRoutes = [
  route({
    method: 'GET',
    path: '/api/users',
    operationId: 'listUsers',
    tag: 'Users',
    summary: 'List users',
    description: 'Accounts with role, studies and sites; `role`, `status` and `search` narrow it.',
    access: outsideStudy(roles('admin')),
    transaction: 'read',
    query: Type.Object({
      ...paging,
      sort: sorting('email', 'name', 'created_at'),
      role: Type.Optional(RoleName),
      status: Type.Optional(UserStatus),
      search: Type.Optional(text(200)),
    }),
    responses: { 200: listOf(User) },
    handle: ({ tx, query }) =>
      listUsers(tx, { ...query, skip: query.skip ?? 0, limit: query.limit ?? 50, sort: query.sort ?? 'email' }),
  }),
  route({
    method: 'PATCH',
    path: '/api/users/{id}',
    operationId: 'updateUser',
    tag: 'Users',
    summary: 'Change a user’s role, status, studies or sites',
    description:
      'Takes effect at once, also for issued access tokens. Deactivating ends all logins of the user and its ' +
      'tokens of /api/v1, for good. ' +
      'Each of `site_ids` must be of one of `study_ids`, as both are after the change (400 ' +
      'SITE_OF_OTHER_STUDY); sites of a removed study are removed with it.',
    access: outsideStudy(roles('admin')),
    transaction: 'change',
    body: UserChange,
    responses: { 200: User },
    handle: ({ tx, audit, actor, context, services, params, body, assertIfMatch }) =>
      changeUser({ tx, audit, actor, context, services }, params.id, body, assertIfMatch),
  }),
];
