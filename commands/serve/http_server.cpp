// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/http_server.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <httplib.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "commands/serve/api_error.hpp"
#include "runtime/clock.hpp"
#include "runtime/log.hpp"

namespace warpsmith::commands {
namespace {

constexpr int backlog = 1024;  // connections that the kernel accepts before this program does
constexpr size_t requests_per_connection = 100'000;
constexpr std::chrono::seconds start_timeout{10};

// --- the threads that answer connections

thread_local bool is_refusing = false;  // on the thread that only refuses

/// The threads that answer connections, and a bounded queue of those that wait for one. Beyond
/// `waiting` connections, further ones go to one thread that only refuses. Once as many wait for
/// that thread, the server accepts none: the kernel then holds and refuses connections.
class BoundedQueue : public httplib::TaskQueue {
 public:
  BoundedQueue(size_t threads, size_t waiting) : waiting_(std::max<size_t>(waiting, 1)) {
    for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(served_); });
    threads_.emplace_back([this] {
      is_refusing = true;
      work(refused_);
    });
  }
  ~BoundedQueue() override { end(); }
  BoundedQueue(const BoundedQueue&) = delete;
  BoundedQueue& operator=(const BoundedQueue&) = delete;

  void enqueue(std::function<void()> task) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return has_room(served_) || has_room(refused_); });
    (has_room(served_) ? served_ : refused_).push_back(std::move(task));
    changed_.notify_all();
  }
  /// Waits for what is queued, as the library's own pool does.
  void shutdown() override { end(); }

 private:
  using Tasks = std::deque<std::function<void()>>;

  bool has_room(const Tasks& tasks) const { return tasks.size() < waiting_; }

  void work(Tasks& from) {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return ended_ || !from.empty(); });
      if (from.empty()) return;
      const std::function<void()> task = std::move(from.front());
      from.pop_front();
      changed_.notify_all();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  void end() {
    {
      const std::scoped_lock lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    threads_.clear();
  }

  const size_t waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Tasks served_, refused_;
  bool ended_ = false;
  std::vector<std::jthread> threads_;
};

// --- whether the client of a request is still connected, before anything is written to it

/// One end of a connection, with the address as the library writes it.
struct SocketAddress {
  std::string address;
  int port = -1;

  bool operator==(const SocketAddress&) const = default;
};

using AddressCall = int(int, sockaddr*, socklen_t*);

/// An empty address if `socket` is not a connection.
SocketAddress address_of(int socket, AddressCall* call) {
  sockaddr_storage storage{};
  auto* const name = reinterpret_cast<sockaddr*>(&storage);
  socklen_t size = sizeof storage;
  std::array<char, NI_MAXHOST> address{};
  std::array<char, NI_MAXSERV> port{};
  if (call(socket, name, &size) != 0) return {};
  if (::getnameinfo(name, size, address.data(), address.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  return {address.data(), std::atoi(port.data())};
}

/// -1 if there is none: a client that resets its connection leaves a socket without a peer.
int socket_between(const SocketAddress& here, const SocketAddress& there) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int socket = std::stoi(entry.path().filename().string());
    if (address_of(socket, ::getpeername) == there && address_of(socket, ::getsockname) == here) {
      return socket;
    }
  }
  return -1;
}

bool is_open(int socket) {
  char byte = 0;
  const ssize_t got = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

/// Asks the connection of a request that is being answered. The library does not expose the
/// socket, so the first call searches those of the process.
std::function<bool()> connection_of(const httplib::Request& request) {
  return [here = SocketAddress{request.local_addr, request.local_port},
          there = SocketAddress{request.remote_addr, request.remote_port}, socket = -1]() mutable {
    if (socket < 0) socket = socket_between(here, there);
    return socket >= 0 && is_open(socket);
  };
}

// --- requests and responses

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

ServedRequest request_of(const httplib::Request& from, std::string body) {
  ServedRequest request{.method = from.method, .path = from.path, .body = std::move(body)};
  for (const auto& [name, value] : from.headers) request.headers.emplace(lower(name), value);
  request.is_open = connection_of(from);
  return request;
}

bool write_stream(const HttpResponse& response, httplib::DataSink& sink) {
  const HttpStream stream{
      [&sink](std::string_view text) { return sink.write(text.data(), text.size()); },
      [&sink] { return sink.is_writable(); }};
  if (!response.stream(stream)) return false;
  sink.done();
  return true;
}

void fill(httplib::Response& to, HttpResponse response) {
  to.status = response.status;
  for (const auto& [name, value] : response.headers) to.set_header(name, value);
  if (!response.stream) return to.set_content(response.body, response.content_type);
  const std::string content_type = response.content_type;
  to.set_chunked_content_provider(
      content_type, [response = std::move(response)](size_t /*offset*/, httplib::DataSink& sink) {
        return write_stream(response, sink);
      });
}

void refuse(httplib::Response& to, const ApiError& error) {
  HttpResponse response{.status = error.status, .body = error_body(error)};
  if (error.retry_after_s > 0) {
    response.headers["Retry-After"] = std::to_string(error.retry_after_s);
  }
  fill(to, std::move(response));
}

void answer_post(const httplib::Request& from, httplib::Response& to,
                 const httplib::ContentReader& reader, const HttpOptions& options,
                 const HttpHandler& handler) {
  if (from.is_multipart_form_data()) {
    to.set_header("Connection", "close");  // the body is not read
    return refuse(to, {.status = 415, .message = "expected Content-Type: application/json"});
  }
  std::string body;
  const size_t limit = options.body_bytes;
  const Deadline deadline = Deadline::after(options.body_timeout);
  Deadline silence = Deadline::after(options.read_timeout);
  const bool whole = reader([&](const char* data, size_t size) {
    if (body.size() + size > limit || deadline.passed()) return false;
    silence = Deadline::after(options.read_timeout);
    body.append(data, size);
    return true;
  });
  if (whole) return fill(to, handler(request_of(from, std::move(body))));
  to.set_header("Connection", "close");
  if (deadline.passed() || silence.passed()) {
    return refuse(
        to, {.status = 408,
             .message = fmt::format("the body: expected whole within {} s, without a pause of {} s",
                                    options.body_timeout.count(), options.read_timeout.count())});
  }
  refuse(to, {.status = to.status == 400 && body.empty() ? 400 : 413,
              .message = fmt::format("the body: expected at most {} bytes", limit)});
}

/// What the library refuses by itself: unknown methods, bad requests, bodies that are too long.
void answer_error(httplib::Response& to) {
  if (!to.body.empty()) return;
  const int status = to.status;
  refuse(to, {.status = status, .message = fmt::format("HTTP: {}", status)});
}

void configure(httplib::Server& server, const HttpOptions& options, int& listening) {
  server.new_task_queue = [threads = options.threads, waiting = options.waiting] {
    return new BoundedQueue(threads, waiting);  // the library owns it
  };
  server.set_pre_routing_handler([](const httplib::Request& /*from*/, httplib::Response& to) {
    if (!is_refusing) return httplib::Server::HandlerResponse::Unhandled;
    to.set_header("Connection", "close");  // a body is not read
    refuse(to, {.status = 429,
                .message = "too many connections wait for a thread; try again later",
                .code = "rate_limit_exceeded",
                .type = "rate_limit_error",
                .retry_after_s = 1});
    return httplib::Server::HandlerResponse::Handled;
  });
  server.set_tcp_nodelay(true);
  server.set_keep_alive_max_count(requests_per_connection);
  server.set_keep_alive_timeout(options.idle_timeout.count());
  server.set_read_timeout(options.read_timeout);
  server.set_write_timeout(options.write_timeout);
  server.set_payload_max_length(options.body_bytes);
  // Not the library's own options: with them a second server would share the port.
  server.set_socket_options([&listening](int socket) {
    const int on = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    listening = socket;
  });
}

void add_routes(httplib::Server& server, const HttpOptions& options, const HttpHandler& handler) {
  server.Get(".*", [handler](const httplib::Request& from, httplib::Response& to) {
    fill(to, handler(request_of(from, {})));
  });
  server.Post(".*", [handler, options](const httplib::Request& from, httplib::Response& to,
                                       const httplib::ContentReader& reader) {
    answer_post(from, to, reader, options, handler);
  });
  server.set_error_handler(
      [](const httplib::Request& /*from*/, httplib::Response& to) { answer_error(to); });
  server.set_exception_handler([](const httplib::Request& from, httplib::Response& to,
                                  const std::exception_ptr& thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
      log::error("serve: " + from.path + ": " + error.what());
    } catch (...) {
      log::error("serve: " + from.path + ": unknown exception");
    }
    refuse(
        to,
        {.status = 500, .message = "internal error; see the server's log", .type = "server_error"});
  });
}

}  // namespace

struct HttpServer::State {
  httplib::Server server;
  int listening = -1;  // the library's socket, known from its options
  int port = 0;
  std::thread thread;
};

Result<HttpServer> HttpServer::listen(const HttpOptions& options, const HttpHandler& handler) {
  auto state = std::make_unique<State>();
  configure(state->server, options, state->listening);
  add_routes(state->server, options, handler);
  state->port = options.port == 0 ? state->server.bind_to_any_port(options.host)
                : state->server.bind_to_port(options.host, options.port) ? options.port
                                                                         : -1;
  if (state->port <= 0) {
    return fail(ErrorCode::invalid_argument,
                "cannot listen at " + http_address(options.host, options.port) +
                    ": the address is taken, or not of this machine; choose another --port");
  }
  (void)::listen(state->listening, backlog);  // the library's own is 5
  state->thread = std::thread([&server = state->server] { server.listen_after_bind(); });
  const Deadline deadline = Deadline::after(start_timeout);
  while (!state->server.is_running() && !deadline.passed()) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return HttpServer{std::move(state)};
}

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer& HttpServer::operator=(HttpServer&&) noexcept = default;

HttpServer::~HttpServer() {
  if (state_) stop();
}

int HttpServer::port() const {
  return state_->port;
}

bool HttpServer::is_running() const {
  return state_->server.is_running();
}

void HttpServer::stop() {
  state_->server.stop();
  if (state_->thread.joinable()) state_->thread.join();
}

bool is_loopback(const std::string& host) {
  in6_addr six{};
  if (::inet_pton(AF_INET6, host.c_str(), &six) == 1) return IN6_IS_ADDR_LOOPBACK(&six);
  in_addr four{};
  constexpr uint32_t loopback_net = 127;
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) {
    return ntohl(four.s_addr) >> 24U == loopback_net;
  }
  return host == "localhost";
}

std::string http_address(const std::string& host, int port) {
  const bool six = host.find(':') != std::string::npos;
  return "http://" + (six ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace warpsmith::commands
