/**
 * Where a program listens: on the socket that its starter holds for it (`--on=NAME:descriptor`, as `npm start` does),
 * so that no other program takes the port in between; else on the address.
 */
export function listeningOn<Address extends object>(name: string, address: Address): Address | { fd: number } {
  const prefix = `--on=${name}:`;
  const given = process.argv.find((argument) => argument.startsWith(prefix));
  return given === undefined ? address : { fd: Number(given.slice(prefix.length)) };
}
