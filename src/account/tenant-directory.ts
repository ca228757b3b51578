import { defaultTenant, type Tenant } from './tenants.js';

/** The tenants that are not archived, in the memory of a process. */
export class TenantDirectory {
  private readonly byNo = new Map<number, Tenant>();
  private readonly byId = new Map<string, Tenant>();
  private readonly byCustomer = new Map<string, Tenant>();
  private list: readonly number[] = [defaultTenant];

  /** The nos of all tenants, in order. */
  get nos(): readonly number[] {
    return this.list;
  }

  /** The tenant that a Tenant-ID header means: by its id, or else by its customer's. */
  find(name: string): number | undefined {
    return (this.byId.get(name.toLowerCase()) ?? this.byCustomer.get(name))?.no;
  }

  clear(): void {
    for (const map of [this.byNo, this.byId, this.byCustomer]) map.clear();
  }

  /** Takes over tenants as they are now. */
  take(tenants: readonly Tenant[]): void {
    // First what they were called, then what they are: two may have exchanged their customers.
    for (const { no } of tenants) {
      const before = this.byNo.get(no);
      if (before?.customerId !== undefined && before.customerId !== null) this.byCustomer.delete(before.customerId);
      if (before) this.byId.delete(before.id);
      this.byNo.delete(no);
    }
    for (const tenant of tenants) {
      if (tenant.status !== 'active') continue;
      this.byNo.set(tenant.no, tenant);
      this.byId.set(tenant.id, tenant);
      if (tenant.customerId !== null) this.byCustomer.set(tenant.customerId, tenant);
    }
    this.list = [...this.byNo.keys()].sort((a, b) => a - b);
  }
}
