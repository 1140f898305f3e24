// Readiness, as service managers hear of it (sd_notify(3)): a datagram to the socket that the environment names.
#ifndef UPFU_NOTIFY_H
#define UPFU_NOTIFY_H

// Tells the service manager, where there is one, that this program is ready: 0, or -1 with errno set.
int notify_ready(void);

#endif
