/* An echo server without any library: one thread, epoll. What the kernel alone costs. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv) {
    static char buffer[4096];
    struct epoll_event events[256], event = {.events = EPOLLIN};
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[argc - 1]))};
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), queue = epoll_create1(0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    event.data.fd = listener;
    if (bind(listener, (struct sockaddr *)&here, sizeof here) != 0 || listen(listener, 1024) != 0 ||
        epoll_ctl(queue, EPOLL_CTL_ADD, listener, &event) != 0)
        return 1;
    for (;;) {
        int count = epoll_wait(queue, events, 256, -1);
        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;
            if (fd == listener) {
                event.data.fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
                if (event.data.fd < 0) continue;
                setsockopt(event.data.fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
                epoll_ctl(queue, EPOLL_CTL_ADD, event.data.fd, &event);
                continue;
            }
            ssize_t n = recv(fd, buffer, sizeof buffer, 0);
            /* The client waits for each answer, so the socket has room for it. */
            if (n > 0 && send(fd, buffer, (size_t)n, MSG_NOSIGNAL) == n) continue;
            if (n > 0 || errno != EAGAIN) close(fd);
        }
    }
}
