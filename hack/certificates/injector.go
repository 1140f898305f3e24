package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	cmscheme "github.com/cert-manager/cert-manager/pkg/client/clientset/versioned/scheme"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	"github.com/cert-manager/cert-manager/pkg/util"
)

// runInjector writes CA bundles into the webhook configurations, API services and definitions that ask
// for them by annotation.
func runInjector(ctx context.Context) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientscheme.AddToScheme, cmscheme.AddToScheme, apiextensions.AddToScheme, apiregistration.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("CA injector: %w", err)
		}
	}
	rest, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("CA injector: %w", err)
	}
	mgr, err := ctrl.NewManager(util.RestConfigWithUserAgent(rest, "cainjector"), ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"}, // the controllers serve metrics
		// Secrets are watched by their metadata alone and read when they are needed.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{new(corev1.Secret)}}},
	})
	if err != nil {
		return fmt.Errorf("CA injector: %w", err)
	}
	err = cainjector.RegisterAllInjectors(ctx, mgr, cainjector.SetupOptions{
		EnableCertificatesDataSource: true,
		EnabledReconcilersFor: map[string]bool{
			cainjector.MutatingWebhookConfigurationName:   true,
			cainjector.ValidatingWebhookConfigurationName: true,
			cainjector.APIServiceName:                     true,
			cainjector.CustomResourceDefinitionName:       true,
		},
	})
	if err != nil {
		return fmt.Errorf("CA injector: %w", err)
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("CA injector: %w", err)
	}
	return nil
}
