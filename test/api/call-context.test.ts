import { AsyncLocalStorage } from 'node:async_hooks';
import { expect } from 'chai';
import { disableWhenUnused } from '../../api/call-context.js';

describe('a storage that holds something during calls only', () => {
  const storageOf = () => {
    const storage = new AsyncLocalStorage<string>();
    let disabled = 0;
    const disable = storage.disable.bind(storage);
    storage.disable = () => {
      disabled += 1;
      disable();
    };
    disableWhenUnused(storage);
    return { storage, disabled: () => disabled };
  };
  const later = (ms: number) =>
    new Promise<void>((resolve) => {
      setTimeout(resolve, ms);
    });

  it('keeps what each call was given while any of them is under way, and is disabled when none is', async () => {
    const { storage, disabled } = storageOf();
    const call = (name: string, wait: Promise<void> = later(1)) =>
      storage.run(name, async () => {
        await wait;
        return storage.getStore();
      });
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = call('slow', released);
    expect(await call('quick')).to.equal('quick');
    expect(disabled(), 'one is still under way').to.equal(0);
    release();
    expect(await slow).to.equal('slow');
    await later(0);
    expect(disabled()).to.equal(1);
    expect(await call('after')).to.equal('after');
    await later(0);
    expect(disabled()).to.equal(2);
  });

  it('counts a call that fails, at once or later, as ended', async () => {
    const { storage, disabled } = storageOf();
    expect(() =>
      storage.run('a', () => {
        throw new Error('at once');
      }),
    ).to.throw('at once');
    expect(disabled()).to.equal(1);
    const failed = await storage
      .run('b', () => Promise.reject(new Error('later')))
      .catch((fault: Error) => fault.message);
    expect(failed).to.equal('later');
    await later(0);
    expect(disabled()).to.equal(2);
    expect(storage.run('c', () => storage.getStore())).to.equal('c');
  });

  it('a call within a call has its own, and the outer one its again', async () => {
    const { storage } = storageOf();
    const seen = await storage.run('outer', async () => [
      await storage.run('inner', async () => {
        await later(1);
        return storage.getStore();
      }),
      storage.getStore(),
    ]);
    expect(seen).to.deep.equal(['inner', 'outer']);
  });
});
