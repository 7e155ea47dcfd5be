'use strict';
// The browser runs this for a push message, even if no page is open. It caches nothing, and intercepts no request of a
// page.
self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));

self.addEventListener('push', (event) => {
  const { title, body, notification_id: id } = event.data.json();
  // A repetition of one message replaces it.
  event.waitUntil(self.registration.showNotification(title, { body, tag: id }));
});

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(
    (async () => {
      const [open] = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
      return open ? open.focus() : self.clients.openWindow('/portal');
    })(),
  );
});
