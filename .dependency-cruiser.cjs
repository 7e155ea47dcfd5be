/**
 * Which way imports go between features, with type imports counted. The direction between layers is a rule of ESLint
 * (eslint.config.mjs); ARCHITECTURE.md describes both.
 */

/** A feature may import those of its own line and of the lines above. */
const order = [
  ['studies', 'identity', 'audit'],
  ['participants'],
  ['scheduling'],
  ['anchor'],
  ['assessment', 'capture'],
  ['notifications', 'portal', 'events'],
  ['exports', 'imports', 'reports', 'timeline', 'simulation', 'templates'],
  ['v1', 'operations'],
  ['console'],
];

const featureRules = ['api', 'activities', 'db', 'workflows', 'workflows/domain'].flatMap((layer) =>
  order.slice(0, -1).map((features, line) => ({
    name: `${layer}: ${features.join(', ')}`,
    comment: 'A feature imports another one only in the order of .dependency-cruiser.cjs.',
    severity: 'error',
    from: { path: `^${layer}/(${features.join('|')})/` },
    to: {
      path: `^${layer}/(${order
        .slice(line + 1)
        .flat()
        .join('|')})/`,
    },
  })),
);

module.exports = {
  forbidden: [
    {
      name: 'no circles',
      comment: 'Files that import each other cannot be read one at a time.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'the frame knows no feature',
      comment: 'api/http serves every feature; the OpenAPI document alone describes the events that subscribers get.',
      severity: 'error',
      from: { path: '^api/http/' },
      to: { path: '^api/(?!http/|util/)[^/]+/', pathNot: '^api/events/events.schemas.ts$' },
    },
    {
      name: 'connections know no feature',
      comment: 'db/client serves every feature.',
      severity: 'error',
      from: { path: '^db/client/' },
      to: { path: '^db/(?!client/|outbox/|audit/)[^/]+/' },
    },
    ...featureRules,
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(node_modules|db/migrations)/' },
    enhancedResolveOptions: { extensions: ['.ts', '.tsx', '.js', '.mjs'] },
  },
};
