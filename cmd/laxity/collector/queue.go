package collector

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"google.golang.org/protobuf/encoding/protowire"
)

// newFileStorageFactory is contrib's file_storage made safe for a process that is killed while it starts. At start the sending
// queue of the collector reads the requests that were being sent, deletes them, and then writes them again one by one: whoever
// is killed in between loses acknowledged spans. Here the deletion waits until the queue's own list no longer names them.
func newFileStorageFactory() extension.Factory {
	inner := filestorage.NewFactory()
	return extension.NewFactory(inner.Type(), inner.CreateDefaultConfig,
		func(ctx context.Context, set extension.Settings, cfg component.Config) (extension.Extension, error) {
			e, err := inner.Create(ctx, set, cfg)
			if err != nil {
				return nil, err
			}
			s, ok := e.(storage.Extension)
			if !ok {
				return nil, errors.New("file_storage: the extension stores nothing")
			}
			return &fileStorage{s}, nil
		}, inner.Stability())
}

type fileStorage struct{ storage.Extension }

// GetClient returns a client whose queue survives a kill.
func (s *fileStorage) GetClient(ctx context.Context, kind component.Kind, owner component.ID, name string) (storage.Client, error) {
	c, err := s.Extension.GetClient(ctx, kind, owner, name)
	if err != nil {
		return nil, err
	}
	return &queueClient{Client: c, waiting: map[string]bool{}}, nil
}

// queueMetadata is the key under which the queue keeps its indexes and the list of requests that are being sent.
const queueMetadata = "qmv0"

// queueClient holds back deletions of requests that the stored metadata still names.
type queueClient struct {
	storage.Client

	mu      sync.Mutex
	waiting map[string]bool // keys to delete
}

// Batch runs the operations in one transaction. A batch of deletions alone waits for the next metadata that does not name
// their keys, and is then part of that transaction.
func (c *queueClient) Batch(ctx context.Context, ops ...*storage.Operation) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var metadata []byte
	deletions := 0
	for _, op := range ops {
		switch {
		case op.Type == storage.Delete:
			deletions++
		case op.Type == storage.Set && op.Key == queueMetadata:
			metadata = op.Value
		}
	}
	if deletions > 0 && deletions == len(ops) {
		for _, op := range ops {
			c.waiting[op.Key] = true
		}
		return nil
	}
	var due []string
	if metadata != nil && len(c.waiting) > 0 {
		named, err := dispatched(metadata)
		if err != nil {
			return fmt.Errorf("metadata of the queue: %w", err)
		}
		for key := range c.waiting {
			if !named[key] {
				due = append(due, key)
				ops = append(ops, storage.DeleteOperation(key))
			}
		}
	}
	if err := c.Client.Batch(ctx, ops...); err != nil {
		return err
	}
	for _, key := range due {
		delete(c.waiting, key)
	}
	return nil
}

// dispatched reads the keys of the requests that are being sent out of the queue's metadata: field 5, fixed64, repeated.
func dispatched(metadata []byte) (map[string]bool, error) {
	const field = 5
	keys := map[string]bool{}
	for len(metadata) > 0 {
		number, typ, n := protowire.ConsumeTag(metadata)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		metadata = metadata[n:]
		if number != field || typ != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, typ, metadata); n < 0 {
				return nil, protowire.ParseError(n)
			}
			metadata = metadata[n:]
			continue
		}
		list, n := protowire.ConsumeBytes(metadata)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		metadata = metadata[n:]
		for len(list) > 0 {
			index, n := protowire.ConsumeFixed64(list)
			if n < 0 {
				return nil, protowire.ParseError(n)
			}
			keys[strconv.FormatUint(index, 10)] = true
			list = list[n:]
		}
	}
	return keys, nil
}
