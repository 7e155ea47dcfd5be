export interface ServerPlace {
  host: string;
  ports: Record<ServerPort, number>;
  store: { host: string; port: number; user: string; password: string };
}
/** Each of the server's four services listens on two ports: for calls, and for the other services. */
export const SERVER_PORTS = [
  'frontend',
  'frontendMembership',
  'history',
  'historyMembership',
  'matching',
  'matchingMembership',
  'worker',
  'workerMembership',
] as const;
export type ServerPort = (typeof SERVER_PORTS)[number];

export const DATABASES = { default: 'temporal', visibility: 'temporal_visibility' } as const;
/** As in the image of docker-compose.yml: it cannot be changed once there are data. */
const HISTORY_SHARDS = 4;

/**
 * The server's configuration (JSON is valid YAML), as the image of docker-compose.yml creates it from its environment:
 * all four services in one process.
 */
export function serverConfig({ host, ports, store }: ServerPlace): string {
  const sql = (databaseName: string, connections: number) => ({
    sql: {
      pluginName: 'postgres12',
      databaseName,
      connectAddr: `${store.host}:${store.port}`,
      connectProtocol: 'tcp',
      user: store.user,
      password: store.password,
      maxConns: connections,
      maxIdleConns: connections,
      maxConnLifetime: '1h',
    },
  });
  const service = (name: 'frontend' | 'history' | 'matching' | 'worker') => ({
    rpc: { grpcPort: ports[name], membershipPort: ports[`${name}Membership`], bindOnIP: host },
  });
  return JSON.stringify(
    {
      log: { stdout: true, level: 'warn' },
      persistence: {
        numHistoryShards: HISTORY_SHARDS,
        defaultStore: 'default',
        visibilityStore: 'visibility',
        datastores: { default: sql(DATABASES.default, 20), visibility: sql(DATABASES.visibility, 10) },
      },
      global: { membership: { maxJoinDuration: '30s', broadcastAddress: host } },
      services: {
        frontend: service('frontend'),
        history: service('history'),
        matching: service('matching'),
        worker: service('worker'),
      },
      clusterMetadata: {
        enableGlobalNamespace: false,
        failoverVersionIncrement: 10,
        masterClusterName: 'active',
        currentClusterName: 'active',
        clusterInformation: {
          active: {
            enabled: true,
            initialFailoverVersion: 1,
            rpcName: 'frontend',
            rpcAddress: `${host}:${ports.frontend}`,
          },
        },
      },
      dcRedirectionPolicy: { policy: 'noop' },
      publicClient: { hostPort: `${host}:${ports.frontend}` },
    },
    undefined,
    2,
  );
}
