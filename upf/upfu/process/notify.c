#define _GNU_SOURCE
#include "process/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int
notify_ready(void)
{
	static const char ready[] = "READY=1";
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	const char *path = getenv("NOTIFY_SOCKET");
	socklen_t size;
	ssize_t sent;
	int fd, error;

	if (path == NULL)
		return 0;
	if ((path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof(to.sun_path)) {
		errno = EINVAL;
		return -1;
	}
	memcpy(to.sun_path, path, strlen(path));
	if (path[0] == '@') // an abstract one
		to.sun_path[0] = '\0';
	size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	sent = sendto(fd, ready, sizeof(ready) - 1, MSG_NOSIGNAL, (struct sockaddr *)&to, size);
	error = errno;
	close(fd);
	errno = error;
	return sent < 0 ? -1 : 0;
}
