// Cert-manager, as much of it as core5g uses, in one process: its controllers for the issuers SelfSigned
// and CA, its webhook and its CA injector.
//
// cert-manager's module holds the packages of these and not their main functions. Here is one for all
// three: an embedded cluster of two CPUs has no room for three deployments, and without ACME, Vault and
// Venafi the program is a fraction of the size. The API is whole: the custom resource definitions are
// those of the module. A site installs cert-manager itself, which serves the same objects.
//
// The module bears a name below cert-manager's, because the webhook is in one of its internal packages.
package main
