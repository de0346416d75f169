package collector

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// disk is storage that remembers what it held after every transaction: the states in which a kill may leave it.
type disk struct {
	component.StartFunc
	component.ShutdownFunc
	mu     sync.Mutex
	data   map[string][]byte
	states []map[string][]byte
}

func (d *disk) GetClient(context.Context, component.Kind, component.ID, string) (storage.Client, error) {
	return d, nil
}

func (d *disk) Get(_ context.Context, key string) ([]byte, error) {
	op := storage.GetOperation(key)
	return op.Value, d.Batch(context.Background(), op)
}

func (d *disk) Set(ctx context.Context, key string, value []byte) error {
	return d.Batch(ctx, storage.SetOperation(key, value))
}

func (d *disk) Delete(ctx context.Context, key string) error {
	return d.Batch(ctx, storage.DeleteOperation(key))
}

func (d *disk) Close(context.Context) error { return nil }

func (d *disk) Batch(_ context.Context, ops ...*storage.Operation) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, op := range ops {
		switch op.Type {
		case storage.Get:
			op.Value = d.data[op.Key]
		case storage.Set:
			d.data[op.Key] = append([]byte(nil), op.Value...)
		case storage.Delete:
			delete(d.data, op.Key)
		}
	}
	d.states = append(d.states, maps.Clone(d.data))
	return nil
}

type host struct {
	extensions map[component.ID]component.Component
}

func (h host) GetExtensions() map[component.ID]component.Component { return h.extensions }

var storageID = component.MustNewID("file_storage")

// startQueue starts an exporter with a queue on the disk; deliver gets the number of each span.
func startQueue(t *testing.T, d *disk, consumers int, deliver func(int) error) exporter.Traces {
	t.Helper()
	queue := exporterhelper.NewDefaultQueueConfig()
	queue.StorageID = &storageID
	queue.NumConsumers = consumers
	e, err := exporterhelper.NewTraces(t.Context(), exportertest.NewNopSettings(component.MustNewType("test")), &struct{}{},
		func(_ context.Context, td ptrace.Traces) error {
			id := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).SpanID()
			return deliver(int(binary.BigEndian.Uint64(id[:])))
		},
		exporterhelper.WithQueue(configoptional.Some(queue)), exporterhelper.WithRetry(configretry.BackOffConfig{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context(), host{map[component.ID]component.Component{storageID: &fileStorage{d}}}); err != nil {
		t.Fatal(err)
	}
	return e
}

func oneSpan(n int) ptrace.Traces {
	td := ptrace.NewTraces()
	var id pcommon.SpanID
	binary.BigEndian.PutUint64(id[:], uint64(n))
	td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty().SetSpanID(id)
	return td
}

// Requests that were being sent when a process was killed are there whatever the moment at which the next one is killed too.
func TestAQueueSurvivesAKillAtAnyMomentOfItsStart(t *testing.T) {
	const requests = 6
	d := &disk{data: map[string][]byte{}}
	busy := make(chan struct{})
	var sending sync.WaitGroup
	sending.Add(requests)
	first := startQueue(t, d, requests, func(int) error {
		sending.Done()
		<-busy
		return nil
	})
	for n := range requests {
		if err := first.ConsumeTraces(t.Context(), oneSpan(n)); err != nil {
			t.Fatal(err)
		}
	}
	sending.Wait() // all are being sent: this is where the first kill comes
	killed := maps.Clone(d.states[len(d.states)-1])
	close(busy)
	if err := first.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}

	second := &disk{data: maps.Clone(killed)}
	hold, began := make(chan struct{}), make(chan struct{}, requests)
	restarted := startQueue(t, second, 1, func(int) error {
		began <- struct{}{}
		<-hold
		return nil
	})
	<-began // the start is over, and nothing is delivered yet
	second.mu.Lock()
	states := second.states[:len(second.states):len(second.states)]
	second.mu.Unlock()
	close(hold)
	if err := restarted.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for i, state := range states {
		delivered := map[int]bool{}
		var mu sync.Mutex
		third := startQueue(t, &disk{data: maps.Clone(state)}, 1, func(n int) error {
			mu.Lock()
			defer mu.Unlock()
			delivered[n] = true
			return nil
		})
		checked++
		deadline := time.Now().Add(10 * time.Second)
		for {
			mu.Lock()
			n := len(delivered)
			mu.Unlock()
			if n == requests {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("killed after transaction %d of the start: %d of %d requests are left", i+1, n, requests)
			}
			time.Sleep(time.Millisecond)
		}
		if err := third.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if checked < requests {
		t.Errorf("only %d states were checked", checked)
	}
}

// inQueue counts the requests that a state holds under keys of their own.
func inQueue(state map[string][]byte) int {
	n := 0
	for key := range state {
		if _, err := fmt.Sscanf(key, "%d", new(int)); err == nil {
			n++
		}
	}
	return n
}

func TestNothingIsLeftOnTheDisk(t *testing.T) {
	d := &disk{data: map[string][]byte{}}
	e := startQueue(t, d, 1, func(int) error { return nil })
	for n := range 20 {
		if err := e.ConsumeTraces(t.Context(), oneSpan(n)); err != nil {
			t.Fatal(err)
		}
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		d.mu.Lock()
		left := inQueue(d.data)
		d.mu.Unlock()
		if left == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d requests left", left)
		}
		time.Sleep(time.Millisecond)
	}
	if err := e.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}
