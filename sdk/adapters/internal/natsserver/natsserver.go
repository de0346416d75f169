// Package natsserver starts a real NATS server with JetStream for tests.
package natsserver

import (
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Server is a server of the test's own, on a free port.
type Server struct {
	dir string
	srv *server.Server
	// URL is where it listens; it stays the same over [Server.Restart].
	URL string
}

// Start runs a server until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{dir: t.TempDir()}
	s.run(t, -1)
	t.Cleanup(func() { s.stop() })
	return s
}

func (s *Server) run(t testing.TB, port int) {
	t.Helper()
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: s.dir, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	go srv.Start()
	if !srv.ReadyForConnections(30 * time.Second) {
		t.Fatal("NATS is not up within 30 s")
	}
	s.srv, s.URL = srv, srv.ClientURL()
}

func (s *Server) stop() {
	s.srv.Shutdown()
	s.srv.WaitForShutdown()
}

// Restart stops the server and starts it again over the same files and port.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	port := s.srv.Addr().(*net.TCPAddr).Port
	s.stop()
	s.run(t, port)
}

// Connect connects until the test ends.
func (s *Server) Connect(t testing.TB) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(s.URL, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}
