package subscriberdata

import (
	"context"

	"core5g.dev/core5g/images/nf/pod"
	"core5g.dev/core5g/images/subscriber-data/postgresql"
	"core5g.dev/core5g/images/subscriber-data/subscription"
	"core5g.dev/core5g/images/subscriberdatabase"
)

// withDatabase are the objects, and beside them the subscribers of the database that the configuration names, where it names one. follow its
// changes until ctx ends. It does not wait for the database: the objects can be served without.
func withDatabase(c Config, around *pod.Around, objects subscription.Objects) (all subscription.Objects, follow func(ctx context.Context), err error) {
	if c.DatabaseDirectory == "" {
		return objects, func(context.Context) {}, nil
	}
	database, err := postgresql.Open(subscriberdatabase.Directory(c.DatabaseDirectory))
	if err != nil {
		return nil, nil, err
	}
	served := postgresql.NewServed(database, c.Cached, around.Log, around.Registry)
	return subscription.WithDatabase(objects, served), func(ctx context.Context) {
		defer database.Close()
		served.Run(ctx)
	}, nil
}
