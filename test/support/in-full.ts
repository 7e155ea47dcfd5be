/** The name of the environment variable that asks for the long form of a test. */
export const IN_FULL = 'TESTS_IN_FULL';

/** Whether the tests run in their long form (`npm run test:durability -- --in-full`). */
export const inFull = process.env[IN_FULL] === '1';

/**
 * How much of something a test does: `usual` in `npm test`, which is as much as shows the guarantee, `most` in the long
 * form, which is as much as there may be.
 */
export const asMuchAs = (usual: number, most: number): number => (inFull ? most : usual);
