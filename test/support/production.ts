/** Secrets that the service accepts in production. */
export const PRODUCTION = {
  NODE_ENV: 'production',
  JWT_SECRET: 'k7Qd0sPz2vLx8mNb4rTy6wHc1jGf3aEu',
  SESSION_SECRET: 'p1Wn9bVe5cXq2zMr7tYk4uHs8dJf6gLo',
  DATACAPTURE_ENCRYPTION_KEY: '9f1c2b7ae04d8835617fbc92d0a3e64815c7b8f2904e6d1a3b5c7f9e8d6a4b20',
  AUDIT_SIGNING_KEY: 'e3Rt6yUi9oPl2kJh5gFd8sAz1xCv4bNm',
  ADMIN_PASSWORD: 'Tr4verse-Quill-88',
};
