import { expect } from 'chai';
import { testEnvironment } from '../support/environment.js';
import { compiled, ran } from '../support/program.js';

/** Tells at the end of a program, by a word of the engine's own, how it keeps what all texts have in common. */
const TELL = `process.on('exit', () => console.log(
  %HasFastProperties(String.prototype) ? 'texts are fast' : 'texts are slow'))`;

/** A package with a class that extends String makes each use of a text several times slower, in all of the process. */
describe('the texts of a process', () => {
  for (const program of ['api/main', 'activities/main'])
    it(`are fast in ${program} when everything is loaded`, async () => {
      // Without settings it ends as soon as it has loaded everything.
      const { output } = await ran(
        ['--allow-natives-syntax', `--import=data:text/javascript,${encodeURIComponent(TELL)}`, compiled(program)],
        testEnvironment(),
      );
      expect(output).to.contain('texts are fast');
    });

  it('are fast with the package for Redis, which is loaded where it is used', async () => {
    const { output } = await ran(
      ['--allow-natives-syntax', '--input-type=module', '-e', `import 'ioredis';${TELL}`],
      testEnvironment(),
    );
    expect(output).to.contain('texts are fast');
  });

  it('would be seen to be slow', async () => {
    const { output } = await ran(
      [
        '--allow-natives-syntax',
        '--input-type=module',
        '-e',
        `class Text extends String {};new Text('a').at(0);${TELL}`,
      ],
      testEnvironment(),
    );
    expect(output).to.contain('texts are slow');
  });
});
