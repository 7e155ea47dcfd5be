/**
 * For a part that is a Node program: drains and ends on SIGTERM, or when the channel to a killed supervisor breaks; a
 * part that outlived its supervisor would hold unknown ports and connections.
 */
export function endsWithSupervisor(drain: () => Promise<void>): void {
  let ending = false;
  const go = (): void => {
    if (ending) return;
    ending = true;
    drain().then(
      () => process.exit(0),
      (fault: Error) => {
        console.error(fault);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', go);
  process.on('SIGINT', go);
  process.on('disconnect', go);
}
