package main

import (
	"context"
	"log/slog"
	"net"

	"github.com/laxity-dev/laxity/api"
	"github.com/laxity-dev/laxity/migrations"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/web"
)

// apiServer is API and page with the address they listen on. 'up' listens first, so that it knows every address, and
// serves last.
type apiServer struct {
	flags    apiFlags
	token    string
	server   *api.Server
	listener net.Listener
}

// newAPI prepares API and page. Ingest is nil where the collector runs elsewhere.
func newAPI(flags apiFlags, store *storage.DB, ingest *api.Ingest, logger *slog.Logger) (*apiServer, error) {
	token, err := readToken(flags.tokenFile)
	if err != nil {
		return nil, err
	}
	page, _ := web.Files() // a binary without the page has one that says so
	server, err := api.New(api.Config{
		Store: store, Web: page, Token: token, AllowedHosts: flags.allowHosts, SchemaVersion: uint32(migrations.Latest()),
		Version: version(), Ingest: ingest, Logger: logger,
	})
	if err != nil {
		return nil, err
	}
	return &apiServer{flags: flags, token: token, server: server}, nil
}

func (s *apiServer) listen() (err error) {
	s.listener, err = api.Listen(s.flags.listen, s.token, s.flags.insecure)
	return err
}

// url is where the page opens.
func (s *apiServer) url() string { return "http://" + s.listener.Addr().String() }

func (s *apiServer) serve(ctx context.Context) error { return s.server.Serve(ctx, s.listener) }
