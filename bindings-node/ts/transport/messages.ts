/** JSON-RPC messages, as the official client hands them over. */

/** The id of a request. */
export type RequestId = string | number;

export interface JsonRpcRequest {
  jsonrpc: "2.0";
  id: RequestId;
  method: string;
  params?: { _meta?: { progressToken?: RequestId; [key: string]: unknown }; [member: string]: unknown };
}

export interface JsonRpcNotification {
  jsonrpc: "2.0";
  method: string;
  params?: { [member: string]: unknown };
}

export interface JsonRpcResult {
  jsonrpc: "2.0";
  id: RequestId;
  result: { [member: string]: unknown };
}

export interface JsonRpcError {
  jsonrpc: "2.0";
  id?: RequestId;
  error: { code: number; message: string; data?: unknown };
}

export type JsonRpcMessage = JsonRpcRequest | JsonRpcNotification | JsonRpcResult | JsonRpcError;
