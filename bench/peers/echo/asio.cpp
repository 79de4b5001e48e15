// An echo server on asio: one io_context, two threads.
#include <asio.hpp>

#include <array>
#include <cstdlib>
#include <memory>
#include <thread>

using asio::ip::tcp;

class connection : public std::enable_shared_from_this<connection> {
public:
    explicit connection(tcp::socket socket) : socket_(std::move(socket)) {}

    void read() {
        auto self = shared_from_this();
        socket_.async_read_some(asio::buffer(buffer_), [self](std::error_code error, std::size_t n) {
            if (!error) self->write(n);
        });
    }

private:
    void write(std::size_t n) {
        auto self = shared_from_this();
        asio::async_write(socket_, asio::buffer(buffer_, n), [self](std::error_code error, std::size_t) {
            if (!error) self->read();
        });
    }

    tcp::socket socket_;
    std::array<char, 4096> buffer_;
};

static void accept_all(tcp::acceptor &acceptor) {
    acceptor.async_accept([&acceptor](std::error_code error, tcp::socket socket) {
        if (!error) {
            socket.set_option(tcp::no_delay(true));
            std::make_shared<connection>(std::move(socket))->read();
        }
        accept_all(acceptor);
    });
}

int main(int argc, char **argv) {
    asio::io_context context(2);
    const auto port = static_cast<unsigned short>(std::atoi(argv[argc - 1]));
    tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), port});
    accept_all(acceptor);
    std::thread second([&context] { context.run(); });
    context.run();
    second.join();
}
