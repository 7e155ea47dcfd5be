/** @hey-api/openapi-ts: a class for each tag of the contract. */
export default {
  input: 'openapi-3.1.json',
  output: { path: 'api', module: { extension: '.js' } },
  plugins: ['@hey-api/client-fetch', '@hey-api/typescript', { name: '@hey-api/sdk', operations: { strategy: 'byTags' } }],
};
