package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/laxity-dev/laxity/internal/listen"
)

// stack is an engine, a collector and, where it is asked for, a worker.
type stack struct {
	binary, address, dsn      string // of the engine
	engine, collector, worker *process
	conn                      *grpc.ClientConn // to the collector
}

// startStack starts engine and collector over an empty database.
func startStack(ctx context.Context, binary, dir, contrib string, args []string) (*stack, error) {
	engine, otlp := "127.0.0.1:0", "127.0.0.1:0"
	if err := listen.FreePorts(map[string]*string{"engine": &engine, "otlp": &otlp}); err != nil {
		return nil, err
	}
	if err := os.WriteFile(contrib, fmt.Appendf(nil, contribYAML, filepath.Join(dir, "queue"), otlp, engine), 0o600); err != nil {
		return nil, err
	}
	s := &stack{binary: binary, address: engine, dsn: "http://" + engine + "/laxity"}
	return s, s.start(ctx, dir, otlp, args)
}

func (s *stack) start(ctx context.Context, dir, otlp string, args []string) (err error) {
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	if s.engine, err = start(ctx, s.binary, "engine", "--data", filepath.Join(dir, "clickhouse"), "--listen", s.address); err != nil {
		return err
	}
	if err := until(ctx, func() error { _, err := query(ctx, s.address, "SELECT 1"); return err }); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, s.binary, "migrate", "--clickhouse", s.dsn).CombinedOutput(); err != nil {
		return fmt.Errorf("migrate: %w\n%s", err, out)
	}
	args = append([]string{"collector", "--clickhouse", s.dsn, "--data", dir, "--otlp-grpc", otlp, "--otlp-http", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"}, args...)
	if s.collector, err = start(ctx, s.binary, args...); err != nil {
		return err
	}
	if s.conn, err = grpc.NewClient(otlp, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		return err
	}
	// One empty request waits for the receiver.
	return until(ctx, func() error { return export(ctx, s.conn, nil) })
}

// age makes what has arrived so far look two minutes older, so that a worker works on it at once.
func (s *stack) age(ctx context.Context) error {
	_, err := query(ctx, s.address, "ALTER TABLE hops UPDATE ingested_at = ingested_at - INTERVAL 2 MINUTE WHERE 1 SETTINGS mutations_sync = 1")
	return err
}

func (s *stack) startWorker(ctx context.Context) (err error) {
	s.worker, err = start(ctx, s.binary, "worker", "--clickhouse", s.dsn, "--worker-metrics-listen", "127.0.0.1:0", "--every", "1s")
	return err
}

// stop ends what was started, the last first.
func (s *stack) stop() {
	if s.conn != nil {
		_ = s.conn.Close()
	}
	for _, p := range []*process{s.worker, s.collector, s.engine} {
		if p != nil {
			p.stop()
		}
	}
}
