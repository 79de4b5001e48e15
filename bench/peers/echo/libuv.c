/* An echo server on libuv: one loop, one thread. */
#include <signal.h>
#include <stdlib.h>
#include <uv.h>

typedef struct connection {
    uv_tcp_t socket;
    uv_write_t request;
    char buffer[4096];
} connection;

static void on_close(uv_handle_t *handle) { free(handle->data); }

static void hang_up(connection *self) {
    if (!uv_is_closing((uv_handle_t *)&self->socket)) uv_close((uv_handle_t *)&self->socket, on_close);
}

static void on_buffer(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer) {
    (void)wanted;
    *buffer = uv_buf_init(((connection *)handle->data)->buffer, sizeof ((connection *)0)->buffer);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer);

static void on_written(uv_write_t *request, int status) {
    connection *self = request->data;
    if (status < 0) hang_up(self);
    else uv_read_start((uv_stream_t *)&self->socket, on_buffer, on_read);
}

/* Tries to send all at once, as libuv advises; else it reads on when all has been sent. */
static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer) {
    connection *self = stream->data;
    if (n < 0) hang_up(self);
    if (n <= 0) return;
    uv_buf_t out = uv_buf_init(buffer->base, (unsigned)n);
    int sent = uv_try_write(stream, &out, 1);
    if (sent == n) return;
    if (sent > 0) out = uv_buf_init(out.base + sent, (unsigned)(n - sent));
    uv_read_stop(stream);
    self->request.data = self;
    uv_write(&self->request, stream, &out, 1, on_written);
}

static void on_connection(uv_stream_t *listener, int status) {
    connection *self = status == 0 ? malloc(sizeof *self) : NULL;
    if (self == NULL) return;
    uv_tcp_init(listener->loop, &self->socket);
    self->socket.data = self;
    if (uv_accept(listener, (uv_stream_t *)&self->socket) != 0) {
        hang_up(self);
        return;
    }
    uv_tcp_nodelay(&self->socket, 1);
    uv_read_start((uv_stream_t *)&self->socket, on_buffer, on_read);
}

int main(int argc, char **argv) {
    uv_tcp_t listener;
    struct sockaddr_in here;
    signal(SIGPIPE, SIG_IGN);
    uv_ip4_addr("127.0.0.1", atoi(argv[argc - 1]), &here);
    uv_tcp_init(uv_default_loop(), &listener);
    if (uv_tcp_bind(&listener, (const struct sockaddr *)&here, 0) != 0 ||
        uv_listen((uv_stream_t *)&listener, 1024, on_connection) != 0)
        return 1;
    return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
