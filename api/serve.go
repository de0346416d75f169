package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// stopLimit is what running requests may take to end at a stop.
const stopLimit = 5 * time.Second

// Listen listens on an address. Other machines are served only with a token or when the operator said that this is meant.
func Listen(address, token string, insecure bool) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("api: %w; choose another address with --listen", err)
	}
	if tcp, ok := listener.Addr().(*net.TCPAddr); (!ok || !tcp.IP.IsLoopback()) && token == "" && !insecure {
		_ = listener.Close()
		return nil, fmt.Errorf("api: %s can be reached from other machines: give --token-file, or --insecure if everyone there may read all traces", address)
	}
	return listener, nil
}

// Serve answers requests until the context ends, then lets the running ones end.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 2 * questionLimit,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
		defer cancel()
		err := server.Shutdown(limited)
		if errors.Is(err, context.DeadlineExceeded) {
			err = server.Close()
		}
		stopped <- err
	})
	err := server.Serve(listener)
	if stop() { // the context did not end: serving failed
		return fmt.Errorf("api: %w", err)
	}
	if err := <-stopped; err != nil {
		return fmt.Errorf("api: stop: %w", err)
	}
	return nil
}
