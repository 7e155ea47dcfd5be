import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { root } from '../support/environment.js';
import { TEN_STEPS, built, contractIn, input, output, sizeOf } from './stage.js';

const GENERATOR = '7.17.0';
const JAR = join(root, '.cache', 'clients', 'tools', `openapi-generator-cli-${GENERATOR}.jar`);
const SETTINGS =
  'hideGenerationTimestamp=true,openApiNullable=false,useJakartaEe=true,enumUnknownDefaultCase=true,useOneOfDiscriminatorLookup=true';
const PARTS = 'apis,models,supportingFiles,apiTests=false,modelTests=false,apiDocs=false,modelDocs=false';

const hasJava = (): Promise<boolean> =>
  output('javac', ['-version'])
    .then(() => output('mvn', ['-version']))
    .then(
      (said) => Number(/Java version: (\d+)/.exec(said)?.[1]) >= 17,
      () => false,
    );

describe('A client in Java, generated from the contract in OpenAPI 3.0 by openapi-generator', function () {
  this.timeout(600_000);

  it('compiles and goes through the ten steps', async function () {
    if (!(await hasJava())) return this.skip();
    const folder = await built('java', GENERATOR + SETTINGS, async (at) => {
      const contract = await contractIn(at, '3.0');
      if (!existsSync(JAR))
        await output('mvn', [
          '-q',
          'dependency:copy',
          `-Dartifact=org.openapitools:openapi-generator-cli:${GENERATOR}`,
          `-DoutputDirectory=${join(root, '.cache', 'clients', 'tools')}`,
        ]);
      await output('mvn', ['-q', '-f', 'pom.xml', 'dependency:copy-dependencies', '-DoutputDirectory=lib'], {
        cwd: at,
      });
      const generate = ['generate', '-i', contract, '-g', 'java', '--library', 'native', '-o', 'made'];
      const options = [`--additional-properties=${SETTINGS}`, '--global-property', PARTS];
      await output('java', ['-XX:TieredStopAtLevel=1', '-jar', JAR, ...generate, ...options], { cwd: at });
      const sources = (await readdir(join(at, 'made', 'src', 'main', 'java'), { recursive: true }))
        .filter((name) => name.endsWith('.java'))
        .map((name) => join('made', 'src', 'main', 'java', name));
      const compile = ['-nowarn', '-proc:none', '-cp', 'lib/*', '-d', 'classes', 'QuickStart.java'];
      await output('javac', [...compile, ...sources], { cwd: at });
    });
    const said = await output('java', ['-cp', 'classes:lib/*', 'QuickStart', await input()], { cwd: folder });
    expect(JSON.parse(said)).to.deep.equal(TEN_STEPS);
    expect((await sizeOf(join(folder, 'made'), '.java')).files).to.be.lessThan(700);
  });
});
