// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/http_server.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "commands/serve/api_error.hpp"
#include "runtime/clock.hpp"
#include "runtime/http/http_token.hpp"
#include "runtime/log.hpp"

namespace warpsmith::commands {
namespace {

constexpr int backlog = 1024;  // connections that the kernel accepts before this program does
constexpr size_t requests_per_connection = 100'000;
constexpr std::chrono::seconds start_timeout{10};
constexpr std::chrono::seconds drain_time{1};

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

// --- connections, which the library would read one request at a time, dropping what came with it

bool is_ready(int socket, short events, std::chrono::milliseconds span) {
  pollfd state{.fd = socket, .events = events, .revents = 0};
  return ::poll(&state, 1, static_cast<int>(span.count())) > 0;
}

bool is_open(int socket) {
  char byte = 0;
  const ssize_t got = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

/// One connection for the library. Bytes after a request stay in its buffer for the next one.
class Connection : public httplib::Stream {
 public:
  Connection(int socket, const HttpOptions& options) : socket_(socket), options_(options) {}

  bool is_readable() const override {
    return begin_ < end_ || is_ready(socket_, POLLIN, options_.read_timeout);
  }
  bool is_writable() const override {
    return is_ready(socket_, POLLOUT, options_.write_timeout) && is_open(socket_);
  }
  ssize_t read(char* to, size_t size) override {
    if (begin_ == end_ && !fill()) return -1;
    const size_t count = std::min(size, end_ - begin_);
    std::copy_n(buffer_.data() + begin_, count, to);
    begin_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* from, size_t size) override {
    return is_writable() ? ::send(socket_, from, size, MSG_NOSIGNAL) : -1;
  }
  // Addresses are not asked for.
  void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  socket_t socket() const override { return socket_; }

  /// Waits up to `span` for a byte of the next request.
  bool has_more(std::chrono::milliseconds span) const {
    return begin_ < end_ || is_ready(socket_, POLLIN, span);
  }
  /// Whether the connection ends after this answer: so until the request says otherwise.
  bool ends() const { return ends_; }
  void set_ends(bool ends) { ends_ = ends; }

  /// Ends the connection. Bytes that were not read would reset it, and the client would lose its
  /// answer, so they are read first, for a moment.
  void close() {
    ::shutdown(socket_, SHUT_WR);
    const Deadline deadline = Deadline::after(drain_time);
    while (has_unread_ && !deadline.passed() && is_ready(socket_, POLLIN, deadline.left())) {
      if (::recv(socket_, buffer_.data(), buffer_.size(), 0) <= 0) break;
    }
    ::shutdown(socket_, SHUT_RDWR);
    ::close(socket_);
  }
  void set_has_unread() { has_unread_ = true; }

 private:
  bool fill() {
    if (!is_ready(socket_, POLLIN, options_.read_timeout)) return false;
    const ssize_t got = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
    begin_ = 0;
    end_ = static_cast<size_t>(std::max<ssize_t>(got, 0));
    return got > 0;
  }

  const int socket_;
  const HttpOptions& options_;
  std::array<char, 16'384> buffer_{};
  size_t begin_ = 0, end_ = 0;
  bool ends_ = true;
  bool has_unread_ = false;  // a body was refused
};

thread_local Connection* connection = nullptr;  // of the request that this thread answers

std::string all_values(const httplib::Request& request, const char* name) {
  std::string values;
  for (size_t i = 0; i < request.get_header_value_count(name); ++i) {
    values += request.get_header_value(name, i) + ",";
  }
  return values;
}

void replace_header(httplib::Request& request, const char* name, const std::string& value) {
  request.headers.erase(name);
  if (!value.empty()) request.headers.emplace(name, value);
}

/// Writes tokens as the library compares them, and decides whether the connection stays.
void prepare(httplib::Request& request) {
  const std::string options = all_values(request, "Connection");
  const bool may_stay = request.version != "HTTP/1.0" || has_http_token(options, "keep-alive");
  const bool stays = may_stay && !has_http_token(options, "close");
  connection->set_ends(!stays);
  replace_header(request, "Connection", stays ? "" : "close");
  for (const char* name : {"Transfer-Encoding", "Expect", "Content-Encoding"}) {
    replace_header(request, name, http_token(request.get_header_value(name)));
  }
  const std::string coding = request.get_header_value("Content-Encoding");
  if (coding == "identity") replace_header(request, "Content-Encoding", "");
  if (coding == "x-gzip") replace_header(request, "Content-Encoding", "gzip");
  const bool has_body = request.has_header("Content-Length") ||
                        !request.get_header_value("Transfer-Encoding").empty();
  if (!has_body) request.headers.emplace("Content-Length", "0");
}

/// The library's server over connections of this file, on which requests may follow each other
/// without waiting for answers.
class ConnectionServer : public httplib::Server {
 public:
  explicit ConnectionServer(const HttpOptions& options) : options_(options) {}

 private:
  bool process_and_close_socket(socket_t socket) override {
    Connection own(socket, options_);
    connection = &own;
    const bool answered = answer_requests(own);
    connection = nullptr;
    own.close();
    return answered;
  }

  bool answer_requests(Connection& from) {
    for (size_t left = requests_per_connection; left > 0; --left) {
      if (!awaits_request(from)) break;
      from.set_ends(true);
      bool ignored = false;  // what the library finds in headers before they are prepared
      if (!process_request(from, left == 1, ignored, prepare)) return false;
      if (from.ends()) break;
    }
    return true;
  }

  bool awaits_request(const Connection& from) const {
    constexpr std::chrono::milliseconds step{50};
    const Deadline idle = Deadline::after(options_.idle_timeout);
    while (svr_sock_ != INVALID_SOCKET && !idle.passed()) {
      if (from.has_more(step)) return true;
    }
    return false;
  }

  const HttpOptions options_;
};

// --- requests and responses

ServedRequest request_of(const httplib::Request& from, std::string body) {
  ServedRequest request{.method = from.method, .path = from.path, .body = std::move(body)};
  for (const auto& [name, value] : from.headers) request.headers.emplace(http_token(name), value);
  request.is_open = [socket = connection->socket()] { return is_open(socket); };
  return request;
}

/// Ends the connection after this answer.
void end_after(const httplib::Request& from, httplib::Response& to) {
  connection->set_ends(true);
  if (from.get_header_value("Connection") == "close") return;  // the library says so
  to.headers.erase("Connection");
  to.set_header("Connection", "close");
}

bool write_stream(const HttpResponse& response, httplib::DataSink& sink) {
  const HttpStream stream{
      [&sink](std::string_view text) { return sink.write(text.data(), text.size()); },
      [&sink] { return sink.is_writable(); }};
  if (!response.stream(stream)) return false;
  sink.done();
  return true;
}

/// A client of HTTP/1.0 reads a stream up to the end of the connection; it knows no chunks.
void fill(const httplib::Request& from, httplib::Response& to, HttpResponse response) {
  to.status = response.status;
  for (const auto& [name, value] : response.headers) to.set_header(name, value);
  if (!response.stream) return to.set_content(response.body, response.content_type);
  const std::string content_type = response.content_type;
  const auto write = [response = std::move(response)](size_t /*offset*/, httplib::DataSink& sink) {
    return write_stream(response, sink);
  };
  if (from.version != "HTTP/1.0") return to.set_chunked_content_provider(content_type, write);
  end_after(from, to);
  to.set_content_provider(content_type, write);
}

void refuse(const httplib::Request& from, httplib::Response& to, const ApiError& error) {
  HttpResponse response{.status = error.status, .body = error_body(error)};
  if (error.retry_after_s > 0) {
    response.headers["Retry-After"] = std::to_string(error.retry_after_s);
  }
  fill(from, to, std::move(response));
}

/// A refusal of a body that is not read to its end.
void refuse_body(const httplib::Request& from, httplib::Response& to, int status,
                 const std::string& message) {
  connection->set_has_unread();
  end_after(from, to);
  refuse(from, to, {.status = status, .message = message});
}

bool is_readable_coding(const std::string& coding) {
  return coding.empty() || coding == "gzip" || coding == "deflate";
}

void answer_post(const httplib::Request& from, httplib::Response& to,
                 const httplib::ContentReader& reader, const HttpOptions& options,
                 const HttpHandler& handler) {
  const std::string coding = from.get_header_value("Content-Encoding");
  if (from.is_multipart_form_data()) {
    return refuse_body(from, to, 415, "expected Content-Type: application/json");
  }
  if (!is_readable_coding(coding)) {
    return refuse_body(from, to, 415,
                       "Content-Encoding: expected gzip, deflate or none, got \"" + coding +
                           "\"; send the body as it is");
  }
  std::string body;
  const size_t limit = options.body_bytes;
  bool too_long = false;
  const Deadline deadline = Deadline::after(options.body_timeout);
  Deadline silence = Deadline::after(options.read_timeout);
  const bool whole = reader([&](const char* data, size_t size) {
    too_long = body.size() + size > limit;
    if (too_long || deadline.passed()) return false;
    silence = Deadline::after(options.read_timeout);
    body.append(data, size);
    return true;
  });
  if (whole) return fill(from, to, handler(request_of(from, std::move(body))));
  if (!too_long && (deadline.passed() || silence.passed())) {
    return refuse_body(from, to, 408,
                       fmt::format("the body: expected whole within {} s, without a pause of {} s",
                                   options.body_timeout.count(), options.read_timeout.count()));
  }
  if (too_long || to.status == 413) {
    return refuse_body(from, to, 413, fmt::format("the body: expected at most {} bytes", limit));
  }
  refuse_body(from, to, 400,
              coding.empty() ? "the body: it is cut, or not in chunks as announced"
                             : "the body: expected " + coding + ", as Content-Encoding says");
}

/// What is wrong with a request that the library refuses by itself.
std::string fault_of(const httplib::Request& from, int status) {
  std::string fault = fmt::format("HTTP: {}", status);
  if (status != 400) return fault;
  return fmt::format(
      R"({}: expected METHOD PATH HTTP/1.1 (or HTTP/1.0), the method in capitals, got "{} {} {}")",
      fault, from.method, from.target, from.version);
}

/// What the library refuses by itself: unknown methods, bad requests, bodies that are too long.
void answer_error(const httplib::Request& from, httplib::Response& to) {
  if (!to.body.empty()) return;
  if (connection->ends()) end_after(from, to);
  const int status = to.status;
  refuse(from, to, {.status = status, .message = fault_of(from, status)});
}

void configure(httplib::Server& server, const HttpOptions& options, int& listening) {
  server.new_task_queue = [threads = options.threads, waiting = options.waiting] {
    return new BoundedQueue(threads, waiting);  // the library owns it
  };
  server.set_pre_routing_handler([](const httplib::Request& from, httplib::Response& to) {
    if (from.version == "HTTP/1.0" && !connection->ends()) {
      to.set_header("Connection", "keep-alive");
    }
    if (!is_refusing) return httplib::Server::HandlerResponse::Unhandled;
    if (from.get_header_value("Content-Length") != "0") connection->set_has_unread();
    end_after(from, to);
    refuse(from, to,
           {.status = 429,
            .message = "too many connections wait for a thread; try again later",
            .code = "rate_limit_exceeded",
            .type = "rate_limit_error",
            .retry_after_s = 1});
    return httplib::Server::HandlerResponse::Handled;
  });
  server.set_tcp_nodelay(true);
  server.set_keep_alive_max_count(requests_per_connection);  // as headers say it
  server.set_keep_alive_timeout(options.idle_timeout.count());
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
    fill(from, to, handler(request_of(from, {})));
  });
  server.Post(".*", [handler, options](const httplib::Request& from, httplib::Response& to,
                                       const httplib::ContentReader& reader) {
    answer_post(from, to, reader, options, handler);
  });
  server.set_error_handler(answer_error);
  server.set_exception_handler([](const httplib::Request& from, httplib::Response& to,
                                  const std::exception_ptr& thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
      log::error("serve: " + from.path + ": " + error.what());
    } catch (...) {
      log::error("serve: " + from.path + ": unknown exception");
    }
    end_after(from, to);
    refuse(
        from, to,
        {.status = 500, .message = "internal error; see the server's log", .type = "server_error"});
  });
}

}  // namespace

struct HttpServer::State {
  explicit State(const HttpOptions& options) : server(options) {}

  ConnectionServer server;
  int listening = -1;  // the library's socket, known from its options
  int port = 0;
  std::thread thread;
};

Result<HttpServer> HttpServer::listen(const HttpOptions& options, const HttpHandler& handler) {
  auto state = std::make_unique<State>(options);
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
