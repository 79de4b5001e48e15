/* What a small web server needs that has nothing to do with wsq: requests, files and parts of
 * files, the heads of answers, a socket. */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct http_request {
    char *method, *path; /* the path is decoded, begins with a slash, and has no query */
    bool keep_alive, has_body, old; /* old: version 1.0 */
    bool changed; /* If-Range: it names a version of the file, and no version has a name here */
    unsigned hosts;
    const char *range; /* NULL: the whole file is asked for */
};

/* A file's bytes from `begin` to `end`, without the latter. */
struct http_part {
    int64_t begin, end, size;
};

/* In place: cuts off a query, and decodes %41 to A. */
static bool http_decode(char *path) {
    char *out = path;
    path[strcspn(path, "?#")] = '\0';
    for (char *in = path; *in; out++) {
        if (*in != '%') {
            *out = *in++;
            continue;
        }
        char digits[3] = {in[1], in[1] ? in[2] : '\0', '\0'};
        if (strspn(digits, "0123456789abcdefABCDEF") != 2) return false;
        *out = (char)strtol(digits, NULL, 16);
        if (*out == '\0') return false;
        in += 3;
    }
    *out = '\0';
    return true;
}

static bool http_parse_line(char *line, struct http_request *request) {
    char *version, *rest;
    if (*line == ' ') return false;
    request->method = strtok_r(line, " ", &rest);
    request->path = strtok_r(NULL, " ", &rest);
    version = strtok_r(NULL, " ", &rest);
    if (!version || strtok_r(NULL, " ", &rest)) return false;
    request->old = strcmp(version, "HTTP/1.0") == 0;
    request->keep_alive = !request->old;
    if (!request->old && strcmp(version, "HTTP/1.1") != 0) return false;
    if (strncasecmp(request->path, "http://", 7) == 0) { /* as a proxy is asked */
        request->path += 7 + strcspn(request->path + 7, "/?#");
        if (*request->path != '/') *--request->path = '/'; /* an empty path */
    }
    return request->path[0] == '/' && http_decode(request->path);
}

static bool http_parse_header(char *line, struct http_request *request) {
    size_t length = strcspn(line, ": \t");
    if (length == 0 || line[length] != ':') return false;
    line[length] = '\0';
    char *value = line + length + 1 + strspn(line + length + 1, " \t");
    for (char *end = value + strlen(value); end > value && strchr(" \t", end[-1]); *--end = '\0') {}
    if (strcasecmp(line, "host") == 0) request->hosts++;
    if (strcasecmp(line, "transfer-encoding") == 0) request->has_body = true;
    if (strcasecmp(line, "content-length") == 0) {
        if (*value == '\0' || value[strspn(value, "0123456789")] != '\0') return false;
        if (value[strspn(value, "0")] != '\0') request->has_body = true;
    }
    if (strcasecmp(line, "range") == 0) request->range = value;
    if (strcasecmp(line, "if-range") == 0) request->changed = true;
    if (strcasecmp(line, "connection") == 0) {
        if (strcasestr(value, "keep-alive")) request->keep_alive = true;
        if (strcasestr(value, "close")) request->keep_alive = false;
    }
    return true;
}

/* A request without its empty line, which is cut to pieces; text[length] can be written. False: it
 * is not one. */
static bool http_parse(char *text, size_t length, struct http_request *request) {
    text[length] = '\0';
    if (strlen(text) != length) return false;
    for (char *line = text, *next; line; line = next) {
        next = strstr(line, "\r\n");
        if (next) {
            *next = '\0';
            next += 2;
        }
        if (line[strcspn(line, "\r\n")] != '\0') return false;
        if (!(line == text ? http_parse_line : http_parse_header)(line, request)) return false;
    }
    if (request->changed) request->range = NULL;
    return request->hosts == 1 || (request->old && request->hosts == 0);
}

/* Digits, which it passes; -1: there are none, or too many. */
static int64_t http_digits(const char **text) {
    int64_t n = 0;
    size_t count = strspn(*text, "0123456789");
    if (count == 0 || count > 18) return -1;
    while (count-- > 0) n = 10 * n + *(*text)++ - '0';
    return n;
}

/* "bytes=0-99", "bytes=100-" or "bytes=-100" (the last 100). The status: 206, or 416 if none of it
 * is in the file; 200, the whole file, for several ranges and for what is not understood. */
static int http_range(const char *text, int64_t size, struct http_part *part) {
    *part = (struct http_part){0, size, size};
    if (!text || strncasecmp(text, "bytes=", 6) != 0) return 200;
    text += 6;
    int64_t first = http_digits(&text);
    if (*text++ != '-') return 200;
    int64_t last = http_digits(&text);
    if (*text != '\0' || (first < 0 && last < 0) || (first >= 0 && last >= 0 && last < first))
        return 200;
    if (first >= size || (first < 0 && last == 0)) return 416;
    if (first >= 0) part->begin = first;
    else part->begin = last < size ? size - last : 0;
    if (first >= 0 && last >= 0 && last < size) part->end = last + 1;
    return part->begin < size ? 206 : 416;
}

static int http_step(int directory, int at, const char *name) {
    int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    int next = name[0] == '.' ? -1 : openat(at, name, flags);
    if (at != directory) close(at);
    return next;
}

/* Opens a file below the directory, name by name: no links, nothing that begins with a dot. */
static int http_open(int directory, char *path) {
    bool is_directory = path[strlen(path) - 1] == '/';
    int at = directory;
    char *rest, *name = strtok_r(path, "/", &rest);
    for (; name && at >= 0; name = strtok_r(NULL, "/", &rest)) at = http_step(directory, at, name);
    return is_directory && at >= 0 ? http_step(directory, at, "index.html") : at;
}

static const char *http_reason(int status) {
    switch (status) {
    case 200: return "OK";
    case 206: return "Partial Content";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 416: return "Range Not Satisfiable";
    case 413: return "Content Too Large";
    case 431: return "Request Header Fields Too Large";
    case 503: return "Service Unavailable";
    default: return "Bad Request";
    }
}

static const char *http_type(const char *path) {
    static const char *const types[][2] = {
        {".html", "text/html; charset=utf-8"}, {".css", "text/css"}, {".js", "text/javascript"},
        {".json", "application/json"}, {".png", "image/png"}, {".svg", "image/svg+xml"},
        {".txt", "text/plain; charset=utf-8"}, {".c", "text/plain"}, {".h", "text/plain"}};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof types / sizeof *types; i++) {
        if (strcmp(dot, types[i][0]) == 0) return types[i][1];
    }
    return "application/octet-stream";
}

/* The head of an answer; returns its length. The part is that of a file, or NULL. */
static int http_head(char *out, size_t size, int status, bool keep_alive, const char *type,
                     size_t length, const struct http_part *part) {
    char date[40], range[90] = "";
    time_t now = time(NULL);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &(struct tm){0}));
    if (status == 416)
        snprintf(range, sizeof range, "Content-Range: bytes */%lld\r\n", (long long)part->size);
    else if (status == 206)
        snprintf(range, sizeof range, "Content-Range: bytes %lld-%lld/%lld\r\n",
                 (long long)part->begin, (long long)part->end - 1, (long long)part->size);
    else if (part) snprintf(range, sizeof range, "Accept-Ranges: bytes\r\n");
    return snprintf(out, size,
                    "HTTP/1.1 %d %s\r\nDate: %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                    "%s%sConnection: %s\r\n\r\n",
                    status, http_reason(status), date, type, length, range,
                    status == 405 ? "Allow: GET, HEAD\r\n" : "",
                    keep_alive ? "keep-alive" : "close");
}

/* For this machine only; port 0 becomes the one that was found. -1: see errno. */
static int http_listen(uint16_t *port) {
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(*port)};
    socklen_t size = sizeof here;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(fd, (struct sockaddr *)&here, size) != 0 || listen(fd, 4096) != 0 ||
        getsockname(fd, (struct sockaddr *)&here, &size) != 0)
        return -1;
    *port = ntohs(here.sin_port);
    return fd;
}
